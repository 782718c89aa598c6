// `1+1` in a context of a lasting cell, by a kept connection to its keeper, against a bare `python3 -I -c 1+1`.
// Usage: bench_cells_context [rounds] [path of hotcell]
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "cells/keeper/client.h"
#include "core/policy/profile.h"
#include "measure.h"
#include "spawn.h"

using namespace hotcell;

namespace {

bool fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return false;
}

bool ask(cells::KeeperClient& keeper, std::string verb, cells::Fields fields, std::vector<std::string> words = {}, const char* value = nullptr) {
  cells::Ask question;
  question.cell = "bench";
  question.verb = std::move(verb);
  question.fields = std::move(fields);
  question.words = std::move(words);
  auto told = keeper.ask(std::move(question));
  if (!told.ok()) return fail(told.error());
  return value == nullptr || told.value().fields["value"] == value;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  std::string self(4096, '\0');
  self.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::readlink("/proc/self/exe", self.data(), self.size()))));
  std::string hotcell = argc > 2 ? argv[2] : self.substr(0, self.rfind('/') + 1) + "hotcell";
  char state[] = "/tmp/hotcell-bench-XXXXXX";
  if (::mkdtemp(state) == nullptr) return 1;
  auto keeper = cells::KeeperClient::connect(state, {hotcell, {"hotcell", "cell", "keeper"}});
  if (!keeper.ok()) return fail(keeper.error()), 1;
  auto& k = keeper.value();
  Policy policy = default_policy();
  policy.limits.processes = 64;
  bool good = ask(k, "create", {{"name", "bench"}, {"policy", to_yaml(policy)}});
  for (const char* language : {"python", "javascript", "bash"}) good = good && ask(k, "context.create", {{"language", language}});
  std::vector<bench::Subject> subjects;
  subjects.push_back({"bare python3 -I -c 1+1", [&] { return bench::fork_exec_wait({"/usr/bin/python3", "-I", "-c", "1+1"}); }});
  subjects.push_back({"1+1 in a python context", [&] { return ask(k, "context.run", {{"context", "python"}}, {"1+1"}, "2"); }});
  subjects.push_back({"1+1 in a javascript context", [&] { return ask(k, "context.run", {{"context", "javascript"}}, {"1+1"}, "2"); }});
  subjects.push_back({": $((1+1)) in a bash context", [&] { return ask(k, "context.run", {{"context", "bash"}}, {": $((1+1))"}, ""); }});
  good = good && bench::interleave(subjects, rounds, 20);
  if (good) bench::table(subjects);
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(k.fd(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && ::kill(who.pid, SIGTERM) == 0)
    while (::kill(who.pid, 0) == 0) ::usleep(10'000);
  for (const auto& e : std::filesystem::directory_iterator(std::string(state) + "/cells")) ::chmod((e.path().string() + "/work/work").c_str(), 0700);
  std::error_code ignored;
  std::filesystem::remove_all(state, ignored);
  if (!good) return 1;
  std::printf("ratio %.4f\n", subjects[1].median() / subjects[0].median());
}
