#include "net/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <thread>

#include "base/strings.h"
#include "net/account.h"
#include "net/journal.h"
#include "sys/fd.h"

namespace hotcell::net {
namespace {

using SystemClock = std::chrono::system_clock;

LogEntry entry(std::string method, std::string host, bool allowed, SystemClock::time_point time = SystemClock::now()) {
  LogEntry e;
  e.time = time;
  e.method = std::move(method);
  e.host = std::move(host);
  e.port = 443;
  e.allowed = allowed;
  e.rule = allowed ? "*" : "default";
  e.reason = cat(e.host, allowed ? " is allowed" : " is refused");
  e.how = allowed ? "" : cat("--allow-domain ", e.host);
  return e;
}

bool has_host(const std::vector<LogEntry>& entries, std::string_view host) {
  for (const auto& e : entries)
    if (e.host == host) return true;
  return false;
}

TEST(NetLog, NoFloodOfOneKindRemovesAnother) {
  Log log(100);
  log.add(entry("CONNECT", "evil.test", false));
  log.notice("something odd");
  for (int i = 0; i < 1000; ++i) {
    log.add(entry("GET", "good.test", true));
    log.add(entry("DNS A", cat("n", i, ".evil.test"), false));
    log.add({SystemClock::now(), "TCP", "", 0, false, "limit", "too many", "--network-connections", 0, 0, {}});
  }
  auto entries = log.entries();
  EXPECT_EQ(entries.size(), 100u);
  EXPECT_TRUE(has_host(entries, "evil.test"));
  EXPECT_EQ(entries[0].number, 1u) << "in order";
  EXPECT_TRUE(entries[1].notice);
  EXPECT_EQ(log.stats().dropped_entries, 3002u - 100u);
  EXPECT_NE(stats_json(log.stats()).find("\"dropped\":2902"), std::string::npos);
  EXPECT_FALSE(log.stats().hosts.contains(""));
}

TEST(NetLog, RefusalsAreSumsThatStayAndTheRestIsCounted) {
  Log log(10);
  for (int i = 0; i < 3; ++i) log.add(entry("CONNECT", "evil.test", false));
  for (int i = 0; i < 2000; ++i) log.add(entry("DNS A", cat("n", i, ".evil.test"), false));
  log.add(entry("CONNECT", "late.test", false));
  for (int i = 0; i < 2000; ++i) log.add(entry("GET", cat("h", i, ".evil.test"), false));
  auto refusals = log.refusals();
  ASSERT_EQ(refusals.size(), 2u * 512 + 1);
  EXPECT_EQ(refusals[0].first.host, "evil.test");
  EXPECT_EQ(refusals[0].count, 3u);
  EXPECT_EQ(refusals[513].first.host, "late.test") << "names do not take the place of a host that was called";
  EXPECT_EQ(refusals.back().first.reason, "there were refusals of more hosts than are listed");
  EXPECT_EQ(refusals.back().count, 4004u - 1026u);
}

TEST(NetLog, RefusalsAndNoticesSinceAMoment) {
  Log log(10);
  const auto before = SystemClock::now() - std::chrono::hours(1), now = SystemClock::now() - std::chrono::milliseconds(1);
  log.add(entry("GET", "old.test", false, before));
  log.add(entry("GET", "both.test", false, before));
  log.add(entry("GET", "both.test", false));
  log.add(entry("GET", "both.test", false));
  log.add(entry("GET", "new.test", false));
  auto refusals = log.refusals(now);
  ASSERT_EQ(refusals.size(), 2u);
  EXPECT_EQ(refusals[0].first.host, "both.test");
  EXPECT_EQ(refusals[0].count, 2u);
  EXPECT_EQ(refusals[1].first.host, "new.test");
  log.notice("something odd");
  EXPECT_EQ(log.notices(now), std::vector<std::string>{"something odd"});
  EXPECT_TRUE(log.notices(SystemClock::now() + std::chrono::hours(1)).empty());
}

TEST(NetLog, NoticesAreBoundedAndSaySo) {
  Log log(1000);
  for (int i = 0; i < 500; ++i) log.notice(cat("odd ", i));
  EXPECT_EQ(log.stats().notices.size(), 101u);
  EXPECT_EQ(log.stats().notices.back(), "there is more to notice than is listed");
}

TEST(NetAccount, DenialsGoThroughTextAndBackWhateverIsInThem) {
  Refusal refusal;
  refusal.first = entry("GET", "evil\ttest\n", false);
  refusal.count = 7;
  Report report;
  read_denial_lines(denial_lines({refusal}, {"slow\ndrip"}), report);
  ASSERT_EQ(report.denials.size(), 1u);
  EXPECT_EQ(report.denials[0].layer, "proxy");
  EXPECT_EQ(report.denials[0].count, 7u);
  EXPECT_EQ(report.notices.size(), 1u);
}

std::string temp_folder() {
  std::string folder = cat(::testing::TempDir(), "/hotcell-journal-XXXXXX");
  return ::mkdtemp(folder.data()) != nullptr ? folder : std::string();
}

TEST(NetJournal, IsKeptAsTheLogGrowsAndTellsWhatWasLost) {
  std::string folder = temp_folder();
  Log log(5);
  JournalWriter writer(folder, "run");
  log.add(entry("GET", "a.test", true));
  ASSERT_TRUE(writer.keep(log.entries(writer.kept())).ok());
  EXPECT_EQ(read_journal(folder).value().size(), 1u);
  for (int i = 0; i < 20; ++i) log.add(entry("GET", "b.test", true));
  ASSERT_TRUE(writer.keep(log.entries()).ok()) << "older ones are left out";
  ASSERT_TRUE(writer.keep(log.entries()).ok());
  auto stats = sum_of(read_journal(folder).value());
  EXPECT_EQ(stats.allowed, 6u);
  EXPECT_EQ(stats.dropped_entries, 15u);
  log.notice("something odd");
  ASSERT_TRUE(writer.keep(log.entries()).ok());
  EXPECT_EQ(sum_of(read_journal(folder).value()).notices, std::vector<std::string>{"something odd"});
  for (const char* name : {"/proxy.log", "/proxy-refused.log"}) EXPECT_EQ(::unlink((folder + name).c_str()), 0) << name;
  ::rmdir(folder.c_str());
}

void remove_journal(const std::string& folder) {
  for (const char* name : {"/proxy.log", "/proxy.log.1", "/proxy-refused.log", "/proxy-refused.log.1", "/proxy-names.log"}) ::unlink((folder + name).c_str());
  EXPECT_EQ(::rmdir(folder.c_str()), 0);
}

TEST(NetJournal, IsKeptByItselfWhileTheLogIsWritten) {
  std::string folder = temp_folder();
  Log log(100);
  JournalKeeper keeper(log, folder, "run", [](LogEntry& e) { e.host = "cleaned"; });
  log.add(entry("GET", "a.test", true));
  auto there = [&] { return read_journal(folder).value(); };
  for (int i = 0; i < 500 && there().empty(); ++i) ::usleep(10'000);
  ASSERT_EQ(there().size(), 1u) << "nobody has asked for it";
  EXPECT_EQ(there()[0].entry.host, "cleaned");
  log.add(entry("GET", "b.test", false));
  EXPECT_TRUE(keeper.finish().ok());
  EXPECT_EQ(there().size(), 2u) << "the end does not wait for the next turn";
  EXPECT_TRUE(keeper.finish().ok());
  EXPECT_EQ(there().size(), 2u);
  remove_journal(folder);
}

TEST(NetJournal, WhatIsStillOpenIsShownAndNotCounted) {
  std::string folder = temp_folder();
  Log log(4);
  JournalWriter writer(folder, "run");
  log.add(entry("CONNECT", "evil.test", false));
  log.add_open(entry("CONNECT", "a.test", true));
  EXPECT_EQ(log.stats().allowed, 0u);
  ASSERT_TRUE(writer.keep(log.entries()).ok());
  auto kept = read_journal(folder).value();
  ASSERT_EQ(kept.size(), 2u);
  const LogEntry& open = kept[kept[0].entry.host == "a.test" ? 0 : 1].entry;
  EXPECT_TRUE(open.open);
  EXPECT_TRUE(open.allowed);
  EXPECT_EQ(sum_of(kept).allowed, 0u);
  for (int i = 0; i < 20; ++i) log.add_open(entry("CONNECT", "b.test", true));
  EXPECT_TRUE(has_host(log.entries(), "evil.test")) << "they push out themselves alone";
  remove_journal(folder);
}

// A file that cannot be written costs its own lines alone, and has them once when it can be.
TEST(NetJournal, WhatCouldNotBeWrittenIsTriedAgainAndNothingIsThereTwice) {
  std::string folder = temp_folder();
  ASSERT_EQ(::symlink("/nowhere", (folder + "/proxy-refused.log").c_str()), 0);  // links are not followed
  Log log(100);
  JournalWriter writer(folder, "run");
  log.add(entry("GET", "a.test", true));
  log.add(entry("GET", "b.test", false));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(writer.keep(log.entries(writer.kept())).ok());
  ASSERT_EQ(::unlink((folder + "/proxy-refused.log").c_str()), 0);
  EXPECT_EQ(read_journal(folder).value().size(), 1u);
  EXPECT_TRUE(writer.keep(log.entries(writer.kept())).ok());
  auto stats = sum_of(read_journal(folder).value());
  EXPECT_EQ(stats.allowed, 1u);
  EXPECT_EQ(stats.blocked, 1u);
  EXPECT_EQ(stats.dropped_entries, 0u);
  remove_journal(folder);
}

// Who waited for the lock while another turned the page has an old page in hand. To turn that, too, would lose it.
TEST(NetJournal, APageIsTurnedOnce) {
  std::string folder = temp_folder();
  const std::string path = folder + "/proxy.log";
  LogEntry big = entry("GET", "old.test", true);
  big.reason.assign(900, 'x');
  ASSERT_TRUE(append_journal(folder, "run", std::vector<LogEntry>(4000, big)).ok());  // nearly full
  sys::Fd held(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(held.valid());
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  const std::vector<LogEntry> more(1000, entry("GET", "late.test", true));
  std::thread late([&] {
    auto e = more;
    for (auto& one : e) one.reason.assign(900, 'y');
    EXPECT_TRUE(append_journal(folder, "run", e).ok());
  });
  ::usleep(200'000);  // it waits for the lock; when it is slower than that, it finds the new page at once
  ASSERT_EQ(::rename(path.c_str(), (path + ".1").c_str()), 0);
  ASSERT_EQ(::flock(held.get(), LOCK_UN), 0);
  late.join();
  std::size_t old = 0, fresh = 0;
  const auto all = read_journal(folder).value();
  for (const auto& e : all) ++(e.entry.host == "old.test" ? old : fresh);
  EXPECT_EQ(old, 4000u);
  EXPECT_EQ(fresh, 1000u);
  remove_journal(folder);
}

TEST(NetJournal, AFloodOfWhatIsAllowedTurnsNoPageOfWhatWasRefused) {
  std::string folder = temp_folder();
  ASSERT_TRUE(append_journal(folder, "run", {entry("CONNECT", "evil.test", false)}).ok());
  LogEntry big = entry("GET", "good.test", true);
  big.reason.assign(900, 'x');
  const std::vector<LogEntry> page(5000, big);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(append_journal(folder, "run", page).ok());
  auto kept = read_journal(folder).value();
  bool found = false;
  for (const auto& e : kept) found = found || e.entry.host == "evil.test";
  EXPECT_TRUE(found);
  EXPECT_LT(kept.size(), 10'001u) << "the flood itself is bounded";
  for (const char* name : {"/proxy.log", "/proxy.log.1", "/proxy-refused.log"}) ::unlink((folder + name).c_str());
  EXPECT_EQ(::rmdir(folder.c_str()), 0);
}

}  // namespace
}  // namespace hotcell::net
