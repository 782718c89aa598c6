#include "store/audit_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "store/audit_chain.h"
#include "store/store_testing.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<AuditLog> open_log(const TestFolder& folder, AuditOptions options = {}) {
  auto log = AuditLog::open(folder.path(), options);
  EXPECT_TRUE(log.ok()) << log.error().message;
  return std::move(log).value();
}

AuditEvent event(int i) {
  return {.layer = "seccomp", .action = "syscall_denied", .severity = AuditSeverity::kMedium,
          .message = cat("bpf was refused ", i), .details = {{"syscall", "bpf"}}, .execution = "e1", .client = "ci"};
}

void fill(const TestFolder& folder, int count, AuditOptions options = {}) {
  auto log = open_log(folder, options);
  for (int i = 0; i < count; ++i) {
    log->append(event(i));
    if (i % 7 == 0) log->flush();
  }
}

AuditVerdict verify(const TestFolder& folder) {
  auto verdict = verify_audit(folder.path());
  EXPECT_TRUE(verdict.ok()) << verdict.error().message;
  return std::move(verdict).value();
}

std::vector<std::string> lines_of(const TestFolder& folder) {
  std::vector<std::string> out;
  std::string text = folder.read(kAuditFile);
  for (auto line : split(text, '\n')) {
    if (!line.empty()) out.emplace_back(line);
  }
  return out;
}

void write_lines(const TestFolder& folder, const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  folder.write(kAuditFile, text);
}

TEST(AuditLog, ALineIsAnOcsfFinding) {
  TestFolder folder;
  {
    auto log = open_log(folder);
    auto e = event(1);
    e.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1700000000123));
    log->append(e);
    e.effect = AuditEffect::kObserved;
    e.severity = AuditSeverity::kCritical;
    log->append(e);
    log->flush();
    EXPECT_EQ(log->entries(), 2u);
  }
  auto lines = lines_of(folder);
  ASSERT_EQ(lines.size(), 2u);
  std::string body = R"({"seq":1,"class_uid":2001,"category_uid":2,"activity_id":1,"type_uid":200101,"severity_id":3,)"
                     R"("severity":"Medium","status_id":1,"status":"blocked","time":1700000000123,"message":"bpf was refused 1",)"
                     R"("finding_info":{"title":"seccomp/syscall_denied","desc":"bpf was refused 1"},)"
                     R"("metadata":{"product":{"name":"hotcell","vendor_name":"hotcell"},"version":"1.0.0"},)"
                     R"("unmapped":{"sandbox_layer":"seccomp","sandbox_action":"syscall_denied","sandbox_mode":"enforced",)"
                     R"("execution":"e1","client":"ci","syscall":"bpf"},"prev":")" + std::string(64, '0') + "\"";
  EXPECT_TRUE(lines[0].starts_with(body + ",\"hash\":\"")) << lines[0];
  EXPECT_NE(lines[1].find(R"("severity_id":5,"severity":"Critical","status_id":2,"status":"observed")"), std::string::npos);
  EXPECT_NE(lines[1].find(R"("sandbox_mode":"observed")"), std::string::npos);
  struct stat s {};
  ASSERT_EQ(::stat((folder / kAuditFile).c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
  auto verdict = verify(folder);
  EXPECT_TRUE(verdict.ok) << verdict.why;
  EXPECT_EQ(verdict.entries, 2u);
}

TEST(AuditLog, WhatWasAppendedCanBeReadOnceItIsWrittenOut) {
  TestFolder folder;
  auto log = open_log(folder);
  for (int i = 0; i < 50; ++i) {
    log->append(event(i));
    log->write_out(std::chrono::seconds(10));
    auto last = read_audit(folder.path(), 0, 1);
    ASSERT_TRUE(last.ok()) << last.error().message;
    ASSERT_EQ(last.value().size(), 1u);
    EXPECT_NE(last.value()[0].json.find(cat("bpf was refused ", i)), std::string::npos) << last.value()[0].json;
  }
  log->write_out(std::chrono::seconds(10));  // nothing is waited for
}

TEST(AuditLog, NoTextCanMakeASecondEventOrField) {
  TestFolder folder;
  auto forged = audit_line(event(9), {});
  {
    auto log = open_log(folder);
    for (std::string text : {cat("\n", forged, "\n"), cat("\"}\n", forged), std::string("\",\"status\":\"observed"),
                             std::string("a\0b\r\xe2\x80\xa8\xff", 8),
                             cat("\",\"prev\":\"", std::string(64, 'a'), "\",\"hash\":\"", std::string(64, 'a'), "\"}")}) {
      log->append({.layer = text, .action = text, .message = text, .details = {{text, text}, {"sandbox_mode", text}},
                   .execution = text, .client = text});
    }
  }
  auto verdict = verify(folder);
  EXPECT_TRUE(verdict.ok) << verdict.why;
  EXPECT_EQ(verdict.entries, 5u);
  for (const auto& line : lines_of(folder)) {
    EXPECT_TRUE(place_of(line));
    EXPECT_NE(line.find(R"("status_id":1,"status":"blocked","time":)"), std::string::npos);
    EXPECT_EQ(line.find(R"(,"status":"observed")"), std::string::npos);
    EXPECT_NE(line.find(R"("sandbox_mode":"enforced")"), std::string::npos);
    EXPECT_NE(line.find(R"("detail_sandbox_mode":)"), std::string::npos);
    EXPECT_TRUE(is_valid_utf8(line));
  }
}

TEST(AuditVerify, ABitTurnedAnywhereIsFoundAtItsLine) {
  TestFolder folder;
  fill(folder, 4);
  const auto text = folder.read(kAuditFile);
  const auto lines = lines_of(folder);
  ChainPoint first{1, std::string(place_of(lines[0])->hash)};
  std::string why;
  ASSERT_TRUE(follow(first, lines[1], why));
  for (std::size_t i = 0; i < lines[1].size() * 8; ++i) {
    std::string damaged = lines[1];
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    EXPECT_FALSE(follow(first, damaged, why)) << i;
  }
  std::uint64_t line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 97 == 0 || text[i] == '\n') {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 7)));
      folder.write(kAuditFile, damaged);
      auto verdict = verify(folder);
      EXPECT_FALSE(verdict.ok) << i;
      EXPECT_EQ(verdict.line, line) << i << ' ' << verdict.why;
      EXPECT_EQ(verdict.entries, line - 1) << i;
    }
    if (text[i] == '\n') ++line;
  }
  folder.write(kAuditFile, text);
  EXPECT_TRUE(verify(folder).ok);
}

TEST(AuditVerify, LinesTakenOutMovedAddedOrCutOffAreFound) {
  TestFolder folder;
  fill(folder, 6);
  const auto lines = lines_of(folder);
  auto check = [&](std::vector<std::string> changed, std::uint64_t line, std::string_view why) {
    write_lines(folder, changed);
    auto verdict = verify(folder);
    EXPECT_FALSE(verdict.ok) << why;
    EXPECT_EQ(verdict.line, line) << verdict.why;
    EXPECT_NE(verdict.why.find(why), std::string::npos) << verdict.why;
  };
  auto without = lines;
  without.erase(without.begin() + 2);
  check(without, 3, "lines 3 to 3 are missing before it");
  check({lines.begin(), lines.begin() + 4}, 5, "lines 5 to 6 are missing at the end");
  check({lines.begin() + 1, lines.end()}, 1, "lines 1 to 1 are missing before it");
  check({}, 1, "lines 1 to 6 are missing at the end");
  auto swapped = lines;
  std::swap(swapped[1], swapped[2]);
  check(swapped, 2, "lines 2 to 2 are missing");
  auto doubled = lines;
  doubled.insert(doubled.begin() + 3, lines[2]);
  check(doubled, 4, "line 3 stands after line 3");
  auto added = lines;
  added.insert(added.begin() + 1, "{}");
  check(added, 2, "not a line of the audit log");

  // A chain made anew from the third line on, every hash right.
  auto forged = lines;
  auto place = place_of(lines[1]);
  ChainPoint point{2, std::string(place->hash)};
  for (std::size_t i = 2; i < forged.size(); ++i) {
    forged[i] = audit_line(event(100), point);
    point = {point.count + 1, std::string(place_of(forged[i])->hash)};
  }
  check(forged, 6, "the end was replaced");
  write_lines(folder, lines);
  EXPECT_TRUE(verify(folder).ok);
  fs::remove(folder / kAuditFile);
  EXPECT_FALSE(verify(folder).ok);
}

TEST(AuditVerify, AGapStaysToBeSeenWhenTheLogGoesOn) {
  TestFolder folder;
  fill(folder, 5);
  auto lines = lines_of(folder);
  lines.pop_back();
  write_lines(folder, lines);
  fill(folder, 3);
  auto verdict = verify(folder);
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.line, 5u);
  EXPECT_NE(verdict.why.find("lines 5 to 5 are missing before it"), std::string::npos) << verdict.why;
}

TEST(AuditLog, AFullFileIsFollowedByAnotherAndTheChainGoesOn) {
  TestFolder folder;
  AuditOptions small{.file_size = {4000}, .keep_files = 100};
  for (int round = 0; round < 3; ++round) fill(folder, 40, small);
  auto files = full_audit_files(folder.path()).value();
  EXPECT_GE(files.size(), 5u);
  EXPECT_EQ(files[0].first, 1u);
  auto verdict = verify(folder);
  EXPECT_TRUE(verdict.ok) << verdict.file << ' ' << verdict.why;
  EXPECT_EQ(verdict.entries, 120u);
  auto page = read_audit(folder.path(), 0, 500).value();
  ASSERT_EQ(page.size(), 120u);
  for (std::size_t i = 0; i < page.size(); ++i) EXPECT_EQ(page[i].number, 120 - i);
  page = read_audit(folder.path(), 50, 3).value();
  ASSERT_EQ(page.size(), 3u);
  EXPECT_EQ(page[0].number, 49u);
  fs::remove(folder / files[2].name);
  verdict = verify(folder);
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.file, files[3].name);
  EXPECT_NE(verdict.why.find("missing before it"), std::string::npos) << verdict.why;
}

TEST(AuditLog, TheOldestFilesGoAndWhatStaysCanBeVerified) {
  TestFolder folder;
  AuditOptions small{.file_size = {4000}, .keep_files = 3};
  fill(folder, 200, small);
  EXPECT_EQ(full_audit_files(folder.path()).value().size(), 3u);
  auto verdict = verify(folder);
  EXPECT_TRUE(verdict.ok) << verdict.file << ' ' << verdict.why;
  EXPECT_LT(verdict.entries, 100u);
  EXPECT_EQ(read_audit(folder.path(), 0, 1).value()[0].number, 200u);
  fs::remove(folder / full_audit_files(folder.path()).value()[0].name);
  EXPECT_FALSE(verify(folder).ok) << "a file that somebody else removed";
}

TEST(AuditLog, WhatWasWrittenIsWholeWhenTheWriterIsKilled) {
  for (int round = 0; round < 3; ++round) {
    TestFolder folder;
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto log = open_log(folder, {.file_size = {20000}});
      for (int i = 0;; ++i) {
        log->append(event(i));
        if (i % 50 == 0) log->flush();
      }
    }
    while (fs::exists(folder / audit_file_name(1)) == false && ::kill(child, 0) == 0) ::usleep(2000);
    ::usleep(static_cast<useconds_t>(5000 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    auto before = verify(folder);
    EXPECT_TRUE(before.ok) << before.file << ':' << before.line << ' ' << before.why;
    EXPECT_GT(before.entries, 0u);
    fill(folder, 5);
    auto after = verify(folder);
    EXPECT_TRUE(after.ok) << after.file << ':' << after.line << ' ' << after.why;
    EXPECT_EQ(after.entries, before.entries + 5);
  }
}

TEST(AuditLog, HalfALineOfACrashIsRemoved) {
  TestFolder folder;
  fill(folder, 3);
  folder.write(kAuditFile, folder.read(kAuditFile) + R"({"seq":4,"class)");
  EXPECT_TRUE(verify(folder).ok);
  fill(folder, 2);
  auto verdict = verify(folder);
  EXPECT_TRUE(verdict.ok) << verdict.why;
  EXPECT_EQ(verdict.entries, 5u);
}

TEST(AuditLog, AFullDiskIsToldAndNothingIsLostThatHasRoomToWait) {
  TestFolder folder;
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto log = open_log(folder, {.queue = 30});
    log->append(event(0));
    log->flush();
    struct rlimit limit {};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    auto before = limit.rlim_cur;
    limit.rlim_cur = 1000;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 1; i < 20; ++i) log->append(event(i));
    log->flush();
    int step = log->last_error().empty() ? 1 : 0;
    for (int i = 0; i < 20; ++i) log->append(event(i));  // 9 of them find no room
    limit.rlim_cur = before;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 200 && !log->last_error().empty(); ++i) ::usleep(20000);
    log->flush();
    if (step == 0 && (log->entries() != 32 || !log->last_error().empty())) step = 2;
    log.reset();
    ::_exit(step);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  auto verdict = verify(folder);
  EXPECT_TRUE(verdict.ok) << verdict.why;
  EXPECT_NE(folder.read(kAuditFile).find("9 events could not be written and are lost"), std::string::npos);
}

TEST(AuditLog, VerifyAndReadWhileItIsWritten) {
  TestFolder folder;
  auto log = open_log(folder, {.file_size = {8000}, .keep_files = 4});
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      log->append(event(i));
      if (i % 20 == 0) log->flush();
    }
  });
  for (int i = 0; i < 20; ++i) {
    auto verdict = verify(folder);
    EXPECT_TRUE(verdict.ok) << verdict.file << ':' << verdict.line << ' ' << verdict.why;
    auto page = read_audit(folder.path(), 0, 10);
    ASSERT_TRUE(page.ok()) << page.error().message;
    for (std::size_t k = 1; k < page.value().size(); ++k) EXPECT_EQ(page.value()[k].number + 1, page.value()[k - 1].number);
  }
  stop = true;
  writer.join();
}

TEST(AuditLog, SeveralProcessesWriteOneChain) {
  TestFolder folder;
  constexpr int kWriters = 4, kLines = 60;
  // Files of a few lines, so that each finds the others' new files, too.
  AuditOptions options;
  options.file_size = Bytes{4096};
  auto log = AuditLog::open(folder.path(), options);
  ASSERT_TRUE(log.ok()) << log.error().message;
  std::vector<pid_t> children;
  for (int w = 0; w < kWriters; ++w) {
    pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      auto mine = AuditLog::open(folder.path(), options);
      if (!mine.ok()) ::_exit(1);
      for (int i = 0; i < kLines; ++i) {
        mine.value()->append({.layer = "test", .action = "line", .message = cat("writer ", w, " line ", i)});
        if (i % 7 == 0) mine.value()->flush();
      }
      mine.value()->flush();
      bool good = mine.value()->last_error().empty();
      mine.value().reset();
      ::_exit(good ? 0 : 2);
    }
    children.push_back(pid);
  }
  for (int i = 0; i < kLines; ++i) {
    log.value()->append({.layer = "test", .action = "line", .message = cat("parent line ", i)});
    if (i % 5 == 0) log.value()->flush();
  }
  for (pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  log.value()->flush();
  EXPECT_EQ(log.value()->last_error(), "");
  auto verdict = verify_audit(folder.path());
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict.value().ok) << verdict.value().file << ':' << verdict.value().line << ' ' << verdict.value().why;
  EXPECT_EQ(verdict.value().entries, static_cast<std::uint64_t>((kWriters + 1) * kLines));
}

TEST(AuditLog, AWriterThatIsKilledLeavesTheChainToTheOthers) {
  TestFolder folder;
  auto log = open_log(folder);
  for (int round = 0; round < 8; ++round) {
    pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      auto mine = AuditLog::open(folder.path());
      if (!mine.ok()) ::_exit(1);
      for (;;) mine.value()->append({.layer = "test", .action = "line", .message = "x"});
    }
    ::usleep(static_cast<useconds_t>(5000 + round * 3000));
    log->append({.layer = "test", .action = "line", .message = cat("between ", round)});
    ::kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status));
    log->append({.layer = "test", .action = "line", .message = cat("after ", round)});
    log->flush();
    EXPECT_EQ(log->last_error(), "");
  }
  auto verdict = verify_audit(folder.path());
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict.value().ok) << verdict.value().file << ':' << verdict.value().line << ' ' << verdict.value().why;
  EXPECT_GE(verdict.value().entries, 16u);
}

TEST(AuditLog, AFileOfOursAlone) {
  TestFolder folder;
  auto log = open_log(folder);
  log.reset();
  ::chmod((folder / kAuditFile).c_str(), 0644);
  EXPECT_FALSE(AuditLog::open(folder.path()).ok());
  fs::remove(folder / kAuditFile);
  fs::create_symlink("/dev/null", folder / kAuditFile);
  EXPECT_FALSE(AuditLog::open(folder.path()).ok());
}

}  // namespace
}  // namespace hotcell
