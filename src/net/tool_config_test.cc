// The hosts of package tools, from files as the tools themselves write them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/strings.h"
#include "net/pattern.h"
#include "net/tool_config.h"

namespace hotcell::net {
namespace {

struct Machine {
  Machine() {
    const char* tmp = std::getenv("TMPDIR");
    std::string pattern = cat(tmp != nullptr ? tmp : "/tmp", "/hotcell-tools-XXXXXX");
    folder = ::mkdtemp(pattern.data()) != nullptr ? pattern : "";
  }
  ~Machine() { std::filesystem::remove_all(folder); }
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder + path).parent_path());
    std::ofstream(folder + path) << text;
  }
  // All patterns of a tool, with commas.
  std::string hosts(std::string_view tool) const {
    ToolPlaces places{folder, folder + "/home/u", [this](const char* name) {
                        auto it = env.find(name);
                        return it == env.end() ? std::string() : it->second;
                      }};
    std::string out;
    for (const auto& h : registry_hosts(places))
      if (h.tool == tool) out += cat(out.empty() ? "" : ",", h.pattern);
    return out;
  }
  std::string folder;
  std::map<std::string, std::string> env;
};

TEST(ToolConfig, NothingInstalledMeansNoHosts) {
  Machine m;
  for (auto tool : {"pip", "npm", "apt", "cargo", "go", "gem", "maven"}) EXPECT_EQ(m.hosts(tool), "") << tool;
}

TEST(ToolConfig, PipFilesContinuationsAndVariables) {
  Machine m;
  m.file("/etc/pip.conf", "[global]\nindex-url = https://user@idx.example/simple\nextra-index-url =\n    http://more.example:8080/s\n    https://last.example/\n"
                          "# index-url = https://comment.example/\ntimeout = 60\n");
  m.file("/home/u/.config/pip/pip.conf", "[install]\nfind-links: https://links.example/d /srv/wheels\n");
  m.env["PIP_EXTRA_INDEX_URL"] = "https://env.example/simple";
  EXPECT_EQ(m.hosts("pip"), "idx.example:443,more.example:8080,last.example:443,links.example:443,env.example:443");
}

TEST(ToolConfig, PipsOwnTableOnlyWhenNoIndexIsSet) {
  Machine m;
  m.file("/usr/lib/python3/dist-packages/pip/_internal/models/index.py",
         "PyPI = PackageIndex(\"https://own.example/\", file_storage_domain=\"files.example\")\nTestPyPI = PackageIndex(\n    \"https://test.example/\")\n");
  EXPECT_EQ(m.hosts("pip"), "own.example:443,files.example:443");
  m.env["PIP_INDEX_URL"] = "https://mirror.example/";
  EXPECT_EQ(m.hosts("pip"), "mirror.example:443");
}

TEST(ToolConfig, NpmRegistryAndScopes) {
  Machine m;
  m.file("/usr/lib/node_modules/npm/node_modules/@npmcli/config/lib/definitions/definitions.js",
         "  proxy: new Definition('proxy', {\n    default: null,\n  }),\n  registry: new Definition('registry', {\n    default: 'https://own.example/',\n");
  EXPECT_EQ(m.hosts("npm"), "own.example:443");
  m.file("/home/u/.npmrc", "@team:registry=https://team.example/npm/\nregistry=\"http://npm.example:4873/\"\n//npm.example:4873/:_authToken=secret\n");
  EXPECT_EQ(m.hosts("npm"), "team.example:443,npm.example:4873");
}

TEST(ToolConfig, AptLinesAndStanzas) {
  Machine m;
  m.file("/etc/apt/sources.list", "# deb http://no.example/debian x main\ndeb [arch=amd64 signed-by=/k] http://a.example/debian stable main\ndeb cdrom:[x]/ stable main\n");
  m.file("/etc/apt/sources.list.d/x.sources", "Types: deb\nURIs: https://b.example/d\n https://c.example/d\nSuites: stable\n");
  m.file("/etc/apt/sources.list.d/off.list.disabled", "deb http://off.example/ x main\n");
  EXPECT_EQ(m.hosts("apt"), "a.example:80,b.example:443,c.example:443");
}

TEST(ToolConfig, CargoFilesIndexAndProgram) {
  Machine m;
  m.file("/usr/bin/cargo", std::string("ELF\0junk", 8) + "sparse+https://index.own.example/more");
  EXPECT_EQ(m.hosts("cargo"), "*.own.example:443");
  m.file("/home/u/.cargo/config.toml", "[source.x]\nregistry = \"sparse+https://idx.example/i/\"\n[registries.y]\nindex = \"https://git.example/i.git\"\n");
  m.file("/home/u/.cargo/registry/index/idx.example-1/config.json", R"({"dl":"https://dl.example/crates","api":"https://api.example"})");
  EXPECT_EQ(m.hosts("cargo"), "idx.example:443,git.example:443,dl.example:443,api.example:443");
}

TEST(ToolConfig, GoTakesTheFirstThatSaysIt) {
  Machine m;
  m.file("/usr/share/go-1.19/src/cmd/go/internal/cfg/cfg.go", "\tGOPROXY    = envOr(\"GOPROXY\", \"https://own.example,direct\")\n\tGOSUMDB    = envOr(\"GOSUMDB\", \"sum.example\")\n");
  EXPECT_EQ(m.hosts("go"), "own.example:443,sum.example:443");
  m.file("/home/u/.config/go/env", "GOPROXY=https://a.example/go|http://b.example:3000,direct\n");
  EXPECT_EQ(m.hosts("go"), "a.example:443,b.example:3000,sum.example:443");
  m.env["GOPROXY"] = "off", m.env["GOSUMDB"] = "off";
  EXPECT_EQ(m.hosts("go"), "");
}

TEST(ToolConfig, GemAndMaven) {
  Machine m;
  m.file("/home/u/.gemrc", ":sources:\n- https://gems.example/\n:verbose: true\n");
  m.file("/home/u/.m2/settings.xml", "<settings><!-- <url>https://no.example/</url> --><mirrors><mirror><url> https://m.example/maven </url></mirror></mirrors></settings>");
  EXPECT_EQ(m.hosts("gem"), "gems.example:443");
  EXPECT_EQ(m.hosts("maven"), "m.example:443");
}

// Debian's maven comes with a mirror that is there to be blocked, at 0.0.0.0: to a proxy that dials it, this host's own loopback.
TEST(ToolConfig, AddressesThatLeadNowhereAreNoRegistries) {
  Machine m;
  m.file("/etc/maven/settings.xml", "<settings><mirrors><mirror><id>a</id><url>https://m.example/</url><blocked>false</blocked></mirror>\n"
                                    "<mirror><id>http-blocker</id><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url><blocked> true </blocked></mirror>\n"
                                    "<mirror><id>b</id><blocked>true</blocked><url>https://blocked.example/</url></mirror></mirrors></settings>");
  EXPECT_EQ(m.hosts("maven"), "m.example:443");
  m.env["PIP_EXTRA_INDEX_URL"] = "http://0.0.0.0/simple http://0/s http://169.254.169.254/x http://[::]/s http://[::ffff:0.0.0.0]:8080/ http://224.0.0.1/";
  EXPECT_EQ(m.hosts("pip"), "");
  m.env["PIP_EXTRA_INDEX_URL"] = "http://127.0.0.1:3141/simple http://10.0.0.7/s";
  EXPECT_EQ(m.hosts("pip"), "127.0.0.1:3141,10.0.0.7:80") << "a mirror of one's own is one's own choice";
}

TEST(ToolConfig, WhatIsNoAddressOfTheNetworkIsLeftOut) {
  Machine m;
  m.file("/etc/pip.conf", "[global]\nindex-url = file:///srv/simple\nextra-index-url = https://bad%20host/ https://[::zz]/ ftp://f.example/\n");
  EXPECT_EQ(m.hosts("pip"), "");
}

// Whatever is configured here becomes rules that can be read.
TEST(ToolConfig, ThisHostsToolsGiveValidPatterns) {
  for (const auto& h : registry_hosts(tools_of_this_host())) EXPECT_TRUE(HostPattern::parse(h.pattern).ok()) << h.tool << " " << h.pattern;
  for (const auto& d : development_hosts()) EXPECT_TRUE(HostPattern::parse(d).ok()) << d;
}

}  // namespace
}  // namespace hotcell::net
