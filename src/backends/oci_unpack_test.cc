#include <gtest/gtest.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/engine/tar_write.h"
#include "backends/oci_host.h"
#include "backends/oci_root.h"
#include "backends/oci_unpack.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

namespace fs = std::filesystem;

std::string file(std::string_view name, std::string_view bytes, unsigned mode = 0644) {
  std::string out = tar_header(name, '0', "", bytes.size(), mode) + std::string(bytes);
  return out + std::string((512 - bytes.size() % 512) % 512, '\0');
}
std::string folder(std::string_view name) { return tar_header(name, '5', ""); }
std::string link(std::string_view name, std::string_view target) { return tar_header(name, '2', target); }
std::string hard(std::string_view name, std::string_view target) { return tar_header(name, '1', target); }
std::string pax(std::string_view key, std::string_view value) {
  std::string body = cat(" ", key, "=", value, "\n");
  std::size_t size = body.size() + 2;
  if (cat(size).size() + body.size() != size) ++size;
  body = cat(size, body);
  return tar_header("pax", 'x', "", body.size()) + body + std::string((512 - body.size() % 512) % 512, '\0');
}
const std::string kEnd(1024, '\0');

class OciUnpack : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/hotcell-unpack.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    top_ = path;
    fs::create_directory(top_ + "/root");
    fs::create_directory(top_ + "/outside");
  }
  void TearDown() override { fs::remove_all(top_); }
  Result<void> unpack(const std::string& bytes, UnpackBudget budget = {}) {
    auto in = sys::memfd("layer", bytes, false, false);
    auto root = sys::open((top_ + "/root").c_str(), O_RDONLY | O_DIRECTORY);
    ::lseek(in.value().get(), 0, SEEK_SET);
    return unpack_layer(in.value().get(), root.value().get(), budget);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(cat(top_, "/root/", name));
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  bool there(const std::string& name) const { return fs::exists(fs::symlink_status(cat(top_, "/root/", name))); }
  std::string top_;
};

TEST_F(OciUnpack, FilesFoldersLinksAndLongNames) {
  std::string wide(150, 'n');
  auto done = unpack(folder("./") + folder("./usr/") + file("./usr/prog", "body", 04755) + link("./bin", "usr") + hard("again", "usr/prog") +
                     pax("path", cat("usr/", wide)) + file("short", "long") + file("made/on/the/way", "x") + kEnd);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(read("usr/prog"), "body");
  EXPECT_EQ(read("bin/prog"), "body");
  EXPECT_EQ(read("again"), "body");
  EXPECT_EQ(read(cat("usr/", wide)), "long");
  EXPECT_EQ(read("made/on/the/way"), "x");
  struct stat st {};
  ASSERT_EQ(::stat(cat(top_, "/root/usr/prog").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0755u) << "no set-id bit";
}

TEST_F(OciUnpack, WhiteoutsTakeAwayWhatIsBelow) {
  ASSERT_TRUE(unpack(file("a/one", "1") + file("a/two", "2") + file("b/old", "3") + file("b/deep/er", "4") + kEnd).ok());
  ASSERT_TRUE(unpack(file("a/.wh.one", "") + file("b/new", "5") + file("b/.wh..wh..opq", "") + file("a/.wh.nothing", "") + kEnd).ok());
  EXPECT_FALSE(there("a/one"));
  EXPECT_TRUE(there("a/two"));
  EXPECT_FALSE(there("b/old"));
  EXPECT_FALSE(there("b/deep"));
  EXPECT_TRUE(there("b/new")) << "an opaque folder keeps what its own layer brings";
  EXPECT_FALSE(there("a/.wh.one"));
}

TEST_F(OciUnpack, NothingIsWrittenOutside) {
  std::string out = cat(top_, "/outside");
  for (const auto& [what, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"dots", file("../outside/x", "bad")},
           {"dots in the middle", file("a/../../outside/x", "bad")},
           {"absolute", file(cat(out, "/x"), "bad")},
           {"a hard link out", file("a", "1") + hard("h", cat("../outside/secret"))},
           {"an absolute hard link", hard("h", "/etc/passwd")},
           {"a long name out", pax("path", "../../outside/x") + file("a", "bad")},
           {"a whiteout out", file("../outside/.wh.secret", "")},
           {"a whiteout of dots", file("a/.wh...", "")},
           {"a device", tar_header("node", '3', "")},
           {"a sparse file", pax("GNU.sparse.major", "1") + file("a", "bad")}}) {
    std::ofstream(out + "/secret") << "kept";
    auto done = unpack(bytes + kEnd);
    EXPECT_FALSE(done.ok()) << what;
    EXPECT_FALSE(fs::exists(out + "/x")) << what;
    std::ifstream in(out + "/secret");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "kept") << what;
  }
  // Links that lead out are resolved inside, as the container would.
  auto followed = unpack(file(cat(out.substr(1), "/keep"), "k") + link("d", out) + file("d/x", "in") + link("e", "../../../../../../..") + file("e/y", "in") + kEnd);
  EXPECT_TRUE(followed.ok()) << followed.error().message;
  EXPECT_FALSE(fs::exists(out + "/x"));
  EXPECT_FALSE(fs::exists("/y"));
  EXPECT_EQ(read("y"), "in");
  EXPECT_EQ(read(cat(out.substr(1), "/x")), "in");
  // A file where a link was is another file: what the link leads to stays as it is.
  ASSERT_TRUE(unpack(link("s", cat(out, "/secret")) + file("s", "new") + kEnd).ok());
  EXPECT_EQ(read("s"), "new");
  std::ifstream in(out + "/secret");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "kept");
}

TEST_F(OciUnpack, DevicesOfDevAreLeftOut) {
  ASSERT_TRUE(unpack(folder("dev/") + tar_header("dev/null", '3', "") + tar_header("fifo", '6', "") + file("a", "1") + kEnd).ok());
  EXPECT_FALSE(there("dev/null"));
  EXPECT_EQ(read("a"), "1");
}

TEST_F(OciUnpack, WhatIsBrokenOrTooLargeIsRefused) {
  EXPECT_FALSE(unpack(std::string(512, 'x')).ok());
  EXPECT_FALSE(unpack(file("a", std::string(2000, 'x')).substr(0, 1000)).ok()) << "cut off";
  EXPECT_FALSE(unpack(file("a", "12345") + kEnd, {4, 10}).ok());
  EXPECT_FALSE(unpack(file("a", "1") + file("b", "2") + kEnd, {100, 1}).ok());
  EXPECT_FALSE(unpack(std::string("\x1f\x8b\x08 no gzip", 12)).ok());
  EXPECT_TRUE(unpack(kEnd).ok());
}

class OciLayout : public OciUnpack {
 protected:
  std::string put(const std::string& bytes) {
    fs::create_directories(top_ + "/layout/blobs/sha256");
    std::string digest = sha256_hex(bytes);
    std::ofstream(cat(top_, "/layout/blobs/sha256/", digest)) << bytes;
    return digest;
  }
  std::string descriptor(std::string_view type, std::string_view digest, std::string_view more = "") {
    return cat(R"({"mediaType":"application/vnd.oci.image.)", type, R"(","digest":"sha256:)", digest, R"(","size":1)", more, "}");
  }
  void index(std::string_view manifests) { std::ofstream(top_ + "/layout/index.json") << R"({"schemaVersion":2,"manifests":[)" << manifests << "]}"; }
  std::string named(std::string_view tag) { return cat(R"(,"annotations":{"org.opencontainers.image.ref.name":")", tag, R"("})"); }
};

TEST_F(OciLayout, EveryDigestIsVerified) {
  std::string layer = put(file("a", "1") + kEnd);
  std::string manifest = put(cat(R"({"schemaVersion":2,"layers":[)", descriptor("layer.v1.tar", layer), "]}"));
  index(cat(descriptor("manifest.v1+json", manifest, named("one")), ",", descriptor("manifest.v1+json", std::string(64, '0'), named("two"))));
  std::string text, at = top_ + "/layout";
  auto found = layout_manifest(at, "one", text);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found.value(), manifest);
  auto root = sys::open((top_ + "/root").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_TRUE(unpack_layout(at, text, root.value().get()).ok());
  EXPECT_EQ(read("a"), "1");
  EXPECT_NE(layout_manifest(at, "", text).error().message.find("one, two"), std::string::npos) << "which of them";
  EXPECT_NE(layout_manifest(at, "three", text).error().message.find("no tag three"), std::string::npos);
  EXPECT_FALSE(layout_manifest(at, "two", text).ok()) << "a blob that is not there";
  // One byte of a layer is another.
  std::string where = cat(at, "/blobs/sha256/", layer);
  std::fstream(where, std::ios::in | std::ios::out).seekp(512) << "2";
  auto changed = unpack_layout(at, R"({"layers":[)" + descriptor("layer.v1.tar", layer) + "]}", root.value().get());
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().message.find("its digest is not its name"), std::string::npos) << changed.error().message;
  EXPECT_EQ(read("a"), "1");
  EXPECT_FALSE(unpack_layout(at, R"({"layers":[{"digest":"sha256:../../../../etc/passwd"}]})", root.value().get()).ok());
  EXPECT_FALSE(unpack_layout(at, R"({"layers":[{"digest":"md5:x"}]})", root.value().get()).ok());
  EXPECT_FALSE(unpack_layout(at, "{}", root.value().get()).ok());
}

TEST(OciLabels, AreThoseOfTheHostOrNone) {
  auto with = [](std::vector<std::string> words) { return Settings::parse(words).value(); };
  LsmFacts none, both{true, true, "unconfined"};
  EXPECT_EQ(oci_labels({}, none, "").value().apparmor, "");
  EXPECT_EQ(oci_labels({}, both, "other (enforce)\nhotcell-cell (enforce)\n").value().apparmor, "hotcell-cell") << "ours, where it is loaded";
  EXPECT_EQ(oci_labels({}, both, "hotcell-cell (complain)\n").value().apparmor, "");
  EXPECT_EQ(oci_labels(with({"oci.apparmor=docker-default"}), both, "docker-default (enforce)\n").value().apparmor, "docker-default");
  EXPECT_FALSE(oci_labels(with({"oci.apparmor=docker-default"}), both, "other (enforce)\n").ok()) << "not loaded";
  EXPECT_FALSE(oci_labels(with({"oci.apparmor=docker-default"}), none, "").ok());
  EXPECT_EQ(oci_labels(with({"oci.selinux=system_u:system_r:container_t:s0"}), both, "").value().selinux, "system_u:system_r:container_t:s0");
  EXPECT_FALSE(oci_labels(with({"oci.selinux=x"}), none, "").ok());
}

TEST(OciResources, AreTheCeilingsOfThePolicy) {
  auto text = [](int version, double cpus) {
    Limits limits;
    limits.memory = 64_MiB;
    limits.processes = 10;
    limits.cpus = cpus;
    JsonWriter w;
    write_resources(w, limits, version);
    return w.take();
  };
  EXPECT_EQ(text(0, 0), "{}");
  EXPECT_EQ(text(1, 0), R"({"memory":{"limit":67108864},"pids":{"limit":26}})");
  EXPECT_EQ(text(1, 1.5), R"({"memory":{"limit":67108864},"pids":{"limit":26},"cpu":{"period":100000,"quota":150000}})");
  EXPECT_EQ(text(2, 0.5), R"({"memory":{"limit":67108864,"swap":67108864},"pids":{"limit":26},"cpu":{"period":100000,"quota":50000},"unified":{"memory.oom.group":"1"}})");
}

}  // namespace
}  // namespace hotcell::backends
