#include "store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {

namespace {

ErrorCode code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH: return ErrorCode::kInvalid;
    case SQLITE_TOOBIG: return ErrorCode::kLimit;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH: return ErrorCode::kDenied;
    case SQLITE_ERROR:
    case SQLITE_MISUSE:
    case SQLITE_RANGE: return ErrorCode::kInternal;
    default: return ErrorCode::kIo;
  }
}

int errno_of(sqlite3* raw, int result) {
  switch (result & 0xff) {
    case SQLITE_FULL: return ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return EBUSY;
    case SQLITE_CONSTRAINT: return EEXIST;
    default: return raw == nullptr ? 0 : sqlite3_system_errno(raw);
  }
}

// SQLite's sentence names the table and the column, never a bound value.
Error error_of(sqlite3* raw, int result) {
  Error error = make_error(code_of(result), cat("store: ", raw == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(raw)));
  error.err = errno_of(raw, result);
  return error;
}

bool is_own(const struct stat& s) { return s.st_uid == ::geteuid() && (s.st_mode & 0077) == 0; }

Error not_ours(std::string_view path, const struct stat& s) {
  if (s.st_uid != ::geteuid()) {
    return make_error(ErrorCode::kDenied, cat(printable(path), " belongs to uid ", s.st_uid, " and we are uid ", ::geteuid(),
                                              ": it is not used"));
  }
  return make_error(ErrorCode::kDenied,
                    cat(printable(path), " must be closed to everybody else (chmod go= ", printable(path), "): it is not used"));
}

Result<void> make_folders(const std::string& path) {
  for (auto at = path.find('/', 1);; at = path.find('/', at + 1)) {
    std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) < 0 && errno != EEXIST) return errno_error(cat("mkdir ", printable(part)), errno);
    if (at == std::string::npos) return {};
  }
}

// Never opened here, neither to make it nor to look at it: SQLite's locks belong to the process, and whoever in it closes the file
// drops the locks of every connection that has it open already. Another program would then take itself for the last one, and
// remove the log under us with all that is still to be written into it. The folder is ours alone, so what was looked at is what
// SQLite opens.
Result<void> make_own_file(int folder, const std::string& name, std::string_view shown) {
  struct stat s {};
  int found = ::fstatat(folder, name.c_str(), &s, AT_SYMLINK_NOFOLLOW);
  if (found < 0 && errno == ENOENT) {
    if (::mknodat(folder, name.c_str(), S_IFREG | 0600, 0) < 0 && errno != EEXIST) return errno_error(cat("make ", printable(shown)), errno);
    found = ::fstatat(folder, name.c_str(), &s, AT_SYMLINK_NOFOLLOW);
  }
  if (found < 0) return errno_error(cat("look at ", printable(shown)), errno);
  if (!S_ISREG(s.st_mode) || s.st_nlink != 1) {
    return make_error(ErrorCode::kDenied, cat(printable(shown), " is not a plain file of one name: it is not used"));
  }
  if (!is_own(s)) return not_ours(shown, s);
  return {};
}

// mmap_size=0: a file cut short by somebody else is an error, not a signal. Temporary tables stay in memory, since a
// confined process may write nowhere else. cache_size, in KiB: the kernel has every page as well, and a read costs little more
// than a copy; what a connection keeps for itself grows to this and stays.
constexpr const char* kSetUp =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY;"
    "PRAGMA secure_delete=FAST; PRAGMA trusted_schema=OFF; PRAGMA journal_size_limit=67108864; PRAGMA mmap_size=0;"
    "PRAGMA cache_size=-512;";

}  // namespace

std::string folder_of(std::string_view file) {
  auto slash = file.rfind('/');
  return slash == std::string_view::npos ? "." : slash == 0 ? "/" : std::string(file.substr(0, slash));
}

Result<sys::Fd> open_state_folder(const std::string& folder) {
  if (!folder.starts_with('/')) {
    return make_error(ErrorCode::kInvalid, cat("the state folder must be an absolute path, not '", printable(folder), "'"));
  }
  std::string path = folder;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();  // a slash at the end would follow a symlink
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  auto opened = sys::open(path.c_str(), kFlags);
  if (!opened.ok() && opened.error().err == ENOENT) {
    TRY(make_folders(path));
    opened = sys::open(path.c_str(), kFlags);
  }
  if (!opened.ok()) {
    struct stat s {};
    if (::lstat(path.c_str(), &s) == 0 && S_ISLNK(s.st_mode)) {
      return make_error(ErrorCode::kDenied, cat(printable(path), " is a symbolic link: it is not used as state folder"));
    }
    return std::move(opened).error();
  }
  TRY_SET(struct stat s, sys::stat_fd(opened.value().get(), path));
  if (!is_own(s)) return not_ours(path, s);
  return opened;
}

Result<sys::Fd> lock_state_file(int folder, const char* name) {
  TRY_SET(sys::Fd file, sys::open_at(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  int done = 0;
  do {
    done = ::flock(file.get(), LOCK_EX | LOCK_NB);
  } while (done < 0 && errno == EINTR);
  if (done == 0) return file;
  if (errno != EWOULDBLOCK) return errno_error(cat("lock ", name), errno);
  Error busy = make_error(ErrorCode::kDenied, cat("another hotcell daemon uses this state folder (", name, " is locked)"));
  busy.err = EBUSY;
  return busy;
}

Statement::Statement(Statement&& o) noexcept
    : raw_(std::exchange(o.raw_, nullptr)), next_(o.next_), bind_error_(o.bind_error_) {}
Statement& Statement::operator=(Statement&& o) noexcept {
  std::swap(raw_, o.raw_);
  std::swap(next_, o.next_);
  std::swap(bind_error_, o.bind_error_);
  return *this;
}
Statement::~Statement() { sqlite3_finalize(raw_); }

void Statement::bind(std::string_view text) {
  const char* bytes = text.empty() ? "" : text.data();  // a null pointer would be NULL
  int done = sqlite3_bind_text64(raw_, next_++, bytes, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (done != SQLITE_OK) bind_error_ = done;
}

void Statement::bind(std::int64_t number) {
  if (int done = sqlite3_bind_int64(raw_, next_++, number); done != SQLITE_OK) bind_error_ = done;
}

void Statement::bind(std::optional<int> number) {
  if (number) return bind(static_cast<std::int64_t>(*number));
  if (int done = sqlite3_bind_null(raw_, next_++); done != SQLITE_OK) bind_error_ = done;
}

Result<bool> Statement::step() {
  if (bind_error_ != SQLITE_OK) return error_of(nullptr, bind_error_);
  int done = sqlite3_step(raw_);
  if (done == SQLITE_ROW) return true;
  if (done == SQLITE_DONE) {
    reset();
    return false;
  }
  Error error = error_of(sqlite3_db_handle(raw_), done);
  reset();
  return error;
}

Result<void> Statement::finish() {
  for (;;) {
    TRY_SET(bool row, step());
    if (!row) return {};
  }
}

void Statement::reset() {
  sqlite3_reset(raw_);
  sqlite3_clear_bindings(raw_);  // texts are not ours
  next_ = 1;
  bind_error_ = SQLITE_OK;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(raw_, column); }

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(raw_, column);
  auto size = static_cast<std::size_t>(sqlite3_column_bytes(raw_, column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

std::optional<int> Statement::small(int column) const {
  if (sqlite3_column_type(raw_, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_int(raw_, column);
}

Result<Database> Database::open(const std::string& file) {
  std::string folder = folder_of(file), name = file.substr(file.rfind('/') + 1);
  TRY_SET(sys::Fd opened, open_state_folder(folder));
  TRY(make_own_file(opened.get(), name, file));
  // NOFOLLOW refuses a symlink anywhere in the path, and /var may well be one: the checked folder by its real name.
  char real[PATH_MAX];
  if (::realpath(folder.c_str(), real) == nullptr) return errno_error(cat("resolve ", printable(folder)), errno);
  TRY_SET(struct stat held, sys::stat_fd(opened.get(), folder));
  struct stat found {};
  if (::lstat(real, &found) != 0 || found.st_ino != held.st_ino || found.st_dev != held.st_dev) {
    return make_error(ErrorCode::kDenied, cat(printable(folder), " was replaced while it was opened"));
  }
  Database database;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  int done = sqlite3_open_v2(cat(real, "/", name).c_str(), &database.raw_, flags, nullptr);
  if (done != SQLITE_OK) return error_of(database.raw_, done).context(printable(file));
  // Several processes use one state folder, some of them for a moment: the last one need not copy the log into the file, and
  // whoever does not see the others' locks (a file system without any) must not take it away from them.
  sqlite3_db_config(database.raw_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  database.set_patience(std::chrono::seconds(5));
  TRY(database.execute(kSetUp).context(printable(file)));
  return database;
}

Database::Database(Database&& o) noexcept : raw_(std::exchange(o.raw_, nullptr)), log_pages_(std::move(o.log_pages_)) {}
Database& Database::operator=(Database&& o) noexcept {
  std::swap(raw_, o.raw_);
  std::swap(log_pages_, o.log_pages_);
  return *this;
}
Database::~Database() { sqlite3_close_v2(raw_); }  // v2: statements that are still there keep it until they go

Result<void> Database::migrate(std::span<const Migration> migrations) {
  auto known = static_cast<std::int64_t>(migrations.size());
  TRY_SET(std::int64_t version, number("PRAGMA user_version"));
  if (version == known) return {};
  TRY_SET(Transaction all, Transaction::begin(*this));
  TRY_SET(version, number("PRAGMA user_version"));  // another process may have been faster
  if (version < 0 || version > known) {
    return make_error(ErrorCode::kUnsupported, cat("the store has version ", version, " and this hotcell knows ", known,
                                                   " at most: a newer one made it"));
  }
  for (; version < known; ++version) {
    TRY(execute(migrations[static_cast<std::size_t>(version)].sql).context(cat("to version ", version + 1)));
  }
  TRY(execute(cat("PRAGMA user_version=", known).c_str()));
  return all.commit();
}

Result<void> Database::execute(const char* sql) {
  int done = sqlite3_exec(raw_, sql, nullptr, nullptr, nullptr);
  if (done != SQLITE_OK) return error_of(raw_, done);
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  Statement statement;
  int done = sqlite3_prepare_v3(raw_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement.raw_, nullptr);
  if (done != SQLITE_OK) return error_of(raw_, done);
  return statement;
}

Result<std::int64_t> Database::number(std::string_view sql) {
  TRY_SET(Statement statement, prepare(sql));
  TRY_SET(bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

std::int64_t Database::changes() const { return sqlite3_changes64(raw_); }
bool Database::in_transaction() const { return sqlite3_get_autocommit(raw_) == 0; }
void Database::set_patience(std::chrono::milliseconds time) { sqlite3_busy_timeout(raw_, static_cast<int>(time.count())); }

void Database::disable_checkpoints() {
  log_pages_ = std::make_unique<std::int64_t>(0);
  // The hook takes the place of SQLite's own, which would checkpoint inside a commit.
  sqlite3_wal_hook(
      raw_,
      [](void* count, sqlite3*, const char*, int pages) {
        *static_cast<std::int64_t*>(count) = pages;
        return SQLITE_OK;
      },
      log_pages_.get());
}

std::int64_t Database::log_pages() const { return log_pages_ == nullptr ? 0 : *log_pages_; }

Result<void> Database::checkpoint() {
  int done = sqlite3_wal_checkpoint_v2(raw_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (done != SQLITE_OK && done != SQLITE_BUSY) return error_of(raw_, done);
  return {};
}

Result<Transaction> Transaction::begin(Database& database) {
  TRY(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // After a full disk SQLite may have rolled back by itself.
  if (database_ != nullptr && database_->in_transaction()) {
    database_->execute("ROLLBACK").ignore("nothing of it was committed, and the next BEGIN would tell");
  }
}

Result<void> Transaction::commit() {
  TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace hotcell
