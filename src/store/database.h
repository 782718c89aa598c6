// SQLite behind a Result. One connection belongs to one thread at a time; two connections to one file see each other's
// commits, since the file is in WAL mode: readers and the writer never wait for each other.
//
// A commit survives the death of the process, not always that of the machine: with synchronous=NORMAL the last
// transactions before a power cut may be lost, whole ones, and the file stays sound.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hotcell/result.h"
#include "sys/fd.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hotcell {

// Made when it is not there. Refused: a symlink, somebody else's, open to others. What is in it decides who may use the
// daemon and what it remembers, so nobody else may ever have written there.
Result<sys::Fd> open_state_folder(const std::string& folder);
// Held until it is closed; kDenied with EBUSY when another process, or this one, holds it.
Result<sys::Fd> lock_state_file(int folder, const char* name);
std::string folder_of(std::string_view file);

class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // From the start with these values. Texts are not copied: they must live until the statement is through.
  template <typename... T>
  void start(const T&... values) {
    reset();
    (bind(values), ...);
  }
  template <typename... T>
  Result<void> run(const T&... values) {
    start(values...);
    return finish();
  }
  void bind(std::string_view text);  // the next parameter
  void bind(std::int64_t number);
  void bind(std::uint64_t number) { bind(static_cast<std::int64_t>(number)); }
  void bind(std::optional<int> number);
  void bind(std::uint32_t number) { bind(static_cast<std::int64_t>(number)); }

  Result<bool> step();    // true: a row; false: through
  Result<void> finish();  // to the end, rows dropped
  void reset();

  std::int64_t integer(int column) const;
  std::string text(int column) const;
  std::optional<int> small(int column) const;  // NULL: nothing

 private:
  friend class Database;
  sqlite3_stmt* raw_ = nullptr;
  int next_ = 1, bind_error_ = 0;
};

struct Migration {
  const char* sql;  // from the version before; the first makes the tables
};

class Database {
 public:
  // Checks the folder, makes a file for us alone, turns on WAL, foreign keys and the rest.
  static Result<Database> open(const std::string& file);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  // To the newest version, all or nothing. A file of a version we do not know is an error.
  Result<void> migrate(std::span<const Migration> migrations);

  Result<void> execute(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  Result<std::int64_t> number(std::string_view sql);  // the first column of the first row; 0 when there is none
  std::int64_t changes() const;                       // rows of the last statement
  bool in_transaction() const;
  void set_patience(std::chrono::milliseconds time);  // how long a statement waits for another writer

  // Without a limit the log would be written back by whoever commits the thousandth page, and somebody waits for that.
  void disable_checkpoints();
  std::int64_t log_pages() const;                     // after the last commit
  Result<void> checkpoint();                          // as much as readers allow

 private:
  Database() = default;
  sqlite3* raw_ = nullptr;
  std::unique_ptr<std::int64_t> log_pages_;  // where the connection's hook finds it, wherever we are moved
};

// Rolled back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);  // as a writer from the start
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace hotcell
