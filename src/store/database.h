// SQLite behind three small owners: Database, Statement, Transaction. Every return code is checked
// and becomes an Error that names the file and the SQL. Used by store/ (and by nothing outside it
// but `sonde query` and the exporters, through Reader).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sonde::store {

// A prepared statement. step() returns true while there is a row. Column accessors are valid until
// the next step(). A bind() that fails makes the next step() fail.
class Statement {
 public:
  void bind(int index, int64_t value);
  void bind(int index, int value) { bind(index, static_cast<int64_t>(value)); }
  void bind(int index, double value);
  void bind(int index, std::string_view text);         // copied
  void bind_static(int index, std::string_view text);  // must outlive the step
  void bind_null(int index);
  template <typename T>
  void bind(int index, const std::optional<T>& value) {
    value ? bind(index, *value) : bind_null(index);
  }
  void bind_column(int index, const Statement& from, int column);  // of any type; copied

  Result<bool> step();
  Status run();  // steps to the end and resets
  void reset();
  int64_t inserted_id() const;  // of the row that the connection inserted last

  int column_count() const;
  const char* column_name(int column) const;
  int column_type(int column) const;  // SQLITE_INTEGER ...
  bool is_null(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  Error failure() const;
  void note_bind(int code);

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  std::string path_;
  int bind_error_ = 0;
};

// One connection. It does not trust what it opens: no extensions, no triggers, no memory map, no
// functions with side effects in views. A kReadOnly connection can neither write nor attach another
// file. One thread at a time.
class Database {
 public:
  // kCreate fails if the file exists. kImmutable is kReadOnly for a file that does not change: no
  // locks and no files beside it.
  enum class Mode { kReadOnly, kImmutable, kReadWrite, kCreate };

  static Result<Database> open(const std::string& path, Mode mode);

  Status exec(std::string_view sql);                // one or several statements without rows
  Result<Statement> prepare(std::string_view sql);  // exactly one statement
  // First column of the first row, or `fallback` when there is no row or it is NULL.
  Result<int64_t> integer(std::string_view sql, int64_t fallback = 0);
  Result<std::string> text(std::string_view sql);

  // How long a call may wait for another program that has the file locked, before it is_busy().
  void wait_for_others(int most_ms);

  Result<bool> has_table(std::string_view name);  // a table or view of the main schema
  Result<bool> has_column(std::string_view table, std::string_view column);

  const std::string& path() const { return path_; }
  // The name errors carry from now on; for a temporary copy, the file the user knows.
  void set_path(std::string path) { path_ = std::move(path); }
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Closer {
    void operator()(sqlite3* handle) const;
  };
  Status configure(Mode mode);
  Error failure(std::string_view sql) const;

  std::unique_ptr<sqlite3, Closer> handle_;
  std::string path_;
};

// "name" with quotes, for names that come out of a file.
std::string quoted_name(std::string_view name);

// True if `error` says that another process held the file; trying again later can work.
bool is_busy(const Error& error);

// BEGIN at construction (see Database::exec), COMMIT on commit(), ROLLBACK if that never came.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace sonde::store
