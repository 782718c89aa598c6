#include "store/database.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "store/store_testing.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

unsigned mode_of(const std::string& path) {
  struct stat s {};
  return ::lstat(path.c_str(), &s) == 0 ? s.st_mode & 0777 : 0;
}

TEST(Database, FolderAndFilesAreForUsAlone) {
  TestFolder folder;
  mode_t before = ::umask(0);
  auto database = open_store(folder / "a/state/hotcell.db");
  ::umask(before);
  ASSERT_TRUE(database.ok()) << database.error().message;
  ASSERT_TRUE(database.value().execute("INSERT INTO settings VALUES('a','1')").ok());
  EXPECT_EQ(mode_of(folder / "a/state"), 0700u);
  for (auto name : {"hotcell.db", "hotcell.db-wal", "hotcell.db-shm"}) {
    EXPECT_EQ(mode_of(folder / cat("a/state/", name)), 0600u) << name;
  }
}

TEST(Database, AFolderOrFileThatOthersCouldHaveWrittenIsRefused) {
  TestFolder folder;
  std::string state = folder / "state", file = store_file(state);
  ASSERT_TRUE(open_store(file).ok());

  ::chmod(state.c_str(), 0750);
  auto wide = open_store(file);
  ASSERT_FALSE(wide.ok());
  EXPECT_NE(wide.error().message.find("must be closed to everybody else"), std::string::npos) << wide.error().message;
  ::chmod(state.c_str(), 0700);

  fs::create_directory_symlink(state, folder / "link");
  for (auto link : {folder / "link", folder / "link/"}) {
    auto linked = open_state_folder(link);
    ASSERT_FALSE(linked.ok());
    EXPECT_NE(linked.error().message.find("symbolic link"), std::string::npos) << linked.error().message;
  }
  EXPECT_FALSE(open_store(folder / "link/hotcell.db").ok());

  fs::create_symlink(file, state + "/other.db");
  EXPECT_FALSE(open_store(state + "/other.db").ok());
  fs::create_hard_link(file, state + "/hard.db");
  EXPECT_FALSE(open_store(state + "/hard.db").ok());
  fs::remove(state + "/hard.db");
  ASSERT_EQ(::mkfifo((state + "/fifo.db").c_str(), 0600), 0);
  EXPECT_FALSE(open_store(state + "/fifo.db").ok());
  ::chmod(file.c_str(), 0644);
  EXPECT_FALSE(open_store(file).ok());
  ::chmod(file.c_str(), 0600);
  EXPECT_TRUE(open_store(file).ok());

  EXPECT_FALSE(open_state_folder("relative").ok());
  bool given_away = ::chown(state.c_str(), 65534, 65534) == 0;
  EXPECT_EQ(given_away, ::geteuid() == 0);
  auto foreign = open_state_folder(given_away ? state : "/usr");
  ASSERT_FALSE(foreign.ok());
  EXPECT_NE(foreign.error().message.find("belongs to uid"), std::string::npos) << foreign.error().message;
}

TEST(Database, ASymlinkFurtherUpIsTheAdministratorsChoice) {
  TestFolder folder;
  ASSERT_TRUE(open_store(folder / "real/state/hotcell.db").ok());
  fs::create_directory_symlink(folder / "real", folder / "var");
  auto database = open_store(folder / "var/state/hotcell.db");
  EXPECT_TRUE(database.ok()) << database.error().message;
}

TEST(Database, ValuesComeBackAsTheyWent) {
  TestFolder folder;
  auto opened = Database::open(folder.file());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  auto& db = opened.value();
  ASSERT_TRUE(db.execute("CREATE TABLE t(a TEXT NOT NULL, b INTEGER) STRICT").ok());
  std::string odd("\0\xff\xfe'\";--\n", 8);
  auto insert = db.prepare("INSERT INTO t VALUES(?,?)");
  ASSERT_TRUE(insert.value().run(odd, std::optional<int>(-7)).ok());
  ASSERT_TRUE(insert.value().run(std::string_view(), std::optional<int>()).ok());
  auto select = db.prepare("SELECT a,b FROM t ORDER BY rowid");
  ASSERT_TRUE(select.value().step().value());
  EXPECT_EQ(select.value().text(0), odd);
  EXPECT_EQ(select.value().small(1), -7);
  ASSERT_TRUE(select.value().step().value());
  EXPECT_EQ(select.value().text(0), "");
  EXPECT_EQ(select.value().small(1), std::nullopt);
  EXPECT_FALSE(select.value().step().value());
}

TEST(Database, ATransactionThatIsNotCommittedNeverWas) {
  TestFolder folder;
  auto opened = Database::open(folder.file());
  auto& db = opened.value();
  ASSERT_TRUE(db.execute("CREATE TABLE t(a INTEGER) STRICT").ok());
  {
    auto all = Transaction::begin(db);
    ASSERT_TRUE(db.execute("INSERT INTO t VALUES(1)").ok());
  }
  EXPECT_EQ(db.number("SELECT count(*) FROM t").value(), 0);
  auto all = Transaction::begin(db);
  ASSERT_TRUE(db.execute("INSERT INTO t VALUES(1)").ok());
  ASSERT_TRUE(all.value().commit().ok());
  EXPECT_EQ(db.number("SELECT count(*) FROM t").value(), 1);
}

TEST(Database, AFailedMigrationLeavesTheVersionBefore) {
  TestFolder folder;
  auto opened = Database::open(folder.file());
  auto& db = opened.value();
  const Migration steps[] = {{"CREATE TABLE t(a INTEGER) STRICT"}, {"CREATE TABLE u(a INTEGER) STRICT; CREATE TABLE t(a INTEGER)"}};
  ASSERT_TRUE(db.migrate(std::span(steps, 1)).ok());
  auto failed = db.migrate(steps);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("to version 2"), std::string::npos) << failed.error().message;
  EXPECT_EQ(db.number("PRAGMA user_version").value(), 1);
  EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_schema WHERE name='u'").value(), 0);
}

TEST(Database, AFileOfANewerVersionIsRefusedAndUnchanged) {
  TestFolder folder;
  ASSERT_TRUE(Database::open(folder.file()).value().execute("PRAGMA user_version=999").ok());
  auto opened = open_store(folder.file());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(opened.error().message.find("a newer one made it"), std::string::npos) << opened.error().message;
  EXPECT_EQ(Database::open(folder.file()).value().number("PRAGMA user_version").value(), 999);
}

TEST(Database, WhatIsNotADatabaseIsAnErrorAndStaysAsItIs) {
  TestFolder folder;
  std::string text(10000, 'x');
  folder.write("hotcell.db", text);
  ::chmod(folder.file().c_str(), 0600);
  auto opened = open_store(folder.file());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("hotcell.db"), std::string::npos);
  EXPECT_EQ(folder.read("hotcell.db"), text);
}

// What another process finds on SQLite's range of the file, and whose it is; F_UNLCK: nothing.
short lock_seen_by_another(const std::string& file) {
  pid_t us = ::getpid();
  pid_t child = ::fork();
  if (child == 0) {
    int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 0x40000002;  // SHARED_FIRST and SHARED_SIZE of SQLite's file format
    lock.l_len = 510;
    if (fd < 0 || ::fcntl(fd, F_GETLK, &lock) < 0) ::_exit(100);
    ::_exit(lock.l_type == F_UNLCK || lock.l_pid == us ? lock.l_type : 101);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return static_cast<short>(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

// As `sqlite3 FILE 'select …'` does: opened, read, closed, and what the last one does at its close.
int read_as_anybody(const std::string& file) {
  sqlite3* raw = nullptr;
  int done = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  if (done == SQLITE_OK) done = sqlite3_exec(raw, "SELECT count(*) FROM t", nullptr, nullptr, nullptr);
  int closed = sqlite3_close(raw);
  return done != SQLITE_OK ? done : closed;
}

TEST(Database, AnotherProgramsReadDoesNotTakeTheLogAway) {
  TestFolder folder;
  // A child that has forked before the file is open here: SQLite's list of open files does not cross a fork.
  int go[2];
  ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte = 0;
    if (::read(go[0], &byte, 1) != 1) ::_exit(99);
    ::_exit(read_as_anybody(folder.file()));
  }
  auto first = Database::open(folder.file());
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(first.value().execute("CREATE TABLE t(a INTEGER) STRICT; INSERT INTO t VALUES(1)").ok());
  EXPECT_EQ(lock_seen_by_another(folder.file()), F_RDLCK);
  auto second = Database::open(folder.file());   // the front has several
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second.value().number("SELECT count(*) FROM t").value(), 1);
  EXPECT_EQ(lock_seen_by_another(folder.file()), F_RDLCK);
  {
    auto third = Database::open(folder.file());
    ASSERT_TRUE(third.ok()) << third.error().message;
  }
  EXPECT_EQ(lock_seen_by_another(folder.file()), F_RDLCK);

  ASSERT_EQ(::write(go[1], "g", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(go[0]);
  ::close(go[1]);
  EXPECT_TRUE(fs::exists(folder.file() + "-wal"));
  ASSERT_TRUE(first.value().execute("INSERT INTO t VALUES(2)").ok());
  ASSERT_TRUE(second.value().execute("INSERT INTO t VALUES(3)").ok());
  first = Error{};
  second = Error{};
  auto again = Database::open(folder.file());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().number("SELECT count(*) FROM t").value(), 3);
}

TEST(Database, OneHolderOfALockAtATime) {
  TestFolder folder;
  auto opened = open_state_folder(folder.path());
  ASSERT_TRUE(opened.ok());
  auto first = lock_state_file(opened.value().get(), "x.lock");
  ASSERT_TRUE(first.ok());
  auto second = lock_state_file(opened.value().get(), "x.lock");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().err, EBUSY);
  first.value().reset();
  EXPECT_TRUE(lock_state_file(opened.value().get(), "x.lock").ok());
}

}  // namespace
}  // namespace hotcell
