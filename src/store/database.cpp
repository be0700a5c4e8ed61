#include "store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/new_file.h"
#include "base/private_file.h"
#include "base/quoted.h"

namespace sonde::store {

namespace {

constexpr const char* kBusyMessage = "the file is in use by another program";
constexpr int kBusyTimeoutMs = 10000;

// A crafted file must not make us allocate without bound.
constexpr int kLongestValue = 256 << 20;

// SQL in a message is cut to this many characters.
constexpr size_t kShownSql = 160;

// Also says what to do, because the same few codes come out of every place that touches a file.
Error sqlite_error(int code, int system_error, const char* detail, std::string context,
                   std::string_view sql) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return make_error(ErrorCode::kBadData, "not an SQLite file", std::move(context),
                        "give an .rpd file, or a gzip-compressed one");
    case SQLITE_CORRUPT:
      return make_error(ErrorCode::kBadData, "the file is damaged or cut off", std::move(context),
                        "copy it again, or try: sqlite3 FILE .recover");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return make_error(ErrorCode::kIo, kBusyMessage, std::move(context),
                        "wait until that is done, then try again");
    case SQLITE_FULL:
      return make_error(ErrorCode::kIo, "the disk is full", std::move(context),
                        "free some space or write to another disk");
    case SQLITE_READONLY:
      return make_error(ErrorCode::kIo, "the file cannot be written", std::move(context),
                        "it was opened read-only");
    case SQLITE_IOERR:
      // SQLite does not note the cause of a COMMIT that fails; nothing else sets errno to this.
      if (system_error == EFBIG || errno == EFBIG) {
        return make_error(ErrorCode::kIo, "the file has reached the limit of file sizes",
                          std::move(context), "raise it (ulimit -f) or write to another disk");
      }
      [[fallthrough]];
    case SQLITE_CANTOPEN:
      if (system_error != 0) return errno_error(detail, std::move(context), system_error);
      [[fallthrough]];
    case SQLITE_PERM:
    case SQLITE_NOMEM:
      return make_error(ErrorCode::kIo, detail, std::move(context));
    default:
      break;
  }
  std::string message = detail;
  if (!sql.empty()) {
    message += " in \"";
    message.append(sql.substr(0, kShownSql));
    message += sql.size() > kShownSql ? "...\"" : "\"";
  }
  return make_error(ErrorCode::kBadData, std::move(message), std::move(context));
}

// SQLite gives "", ":memory:" and "file:..." a meaning of their own; a path has none of it.
std::string plain_path(const std::string& path) {
  return !path.empty() && path.front() == '/' ? path : "./" + path;
}

std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : plain_path(path)) {
    static constexpr char kHex[] = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || c == '?' || c == '#') {
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

Status create_empty(const std::string& path) {
  const UniqueFd fd = create_private_file(path, O_RDWR);
  if (fd.valid()) return ok_status();
  if (errno == EEXIST) {
    return make_error(ErrorCode::kInvalidArgument, "already exists", path,
                      "choose another name or remove it");
  }
  return not_created("file", path, errno);
}

Status require_file(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return errno_error("cannot open the file", path, errno);
  if (S_ISDIR(info.st_mode)) {
    return make_error(ErrorCode::kBadData, "this is a directory", path, "give an .rpd file");
  }
  return ok_status();
}

}  // namespace

std::string quoted_name(std::string_view name) { return in_quotes(name, '"'); }

bool is_busy(const Error& error) { return error.message == kBusyMessage; }

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::note_bind(int code) {
  if (code != SQLITE_OK && bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::bind(int index, int64_t value) {
  note_bind(sqlite3_bind_int64(statement_.get(), index, value));
}

void Statement::bind(int index, double value) {
  note_bind(sqlite3_bind_double(statement_.get(), index, value));
}

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL instead of ''.
  const char* data = text.data() == nullptr ? "" : text.data();
  note_bind(sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_TRANSIENT,
                                SQLITE_UTF8));
}

void Statement::bind_static(int index, std::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();
  note_bind(
      sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind_null(int index) { note_bind(sqlite3_bind_null(statement_.get(), index)); }

void Statement::bind_column(int index, const Statement& from, int column) {
  note_bind(sqlite3_bind_value(statement_.get(), index,
                               sqlite3_column_value(from.statement_.get(), column)));
}

Error Statement::failure() const {
  sqlite3* handle = sqlite3_db_handle(statement_.get());
  const char* sql = sqlite3_sql(statement_.get());
  return sqlite_error(sqlite3_errcode(handle), sqlite3_system_errno(handle), sqlite3_errmsg(handle),
                      path_, sql == nullptr ? "" : sql);
}

Result<bool> Statement::step() {
  if (bind_error_ != SQLITE_OK) {
    return sqlite_error(bind_error_, 0, sqlite3_errstr(bind_error_), path_,
                        sqlite3_sql(statement_.get()));
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failure();
}

Status Statement::run() {
  for (;;) {
    auto more = step();
    if (!more || !*more) {
      reset();
      if (!more) return std::move(more).error();
      return ok_status();
    }
  }
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

int64_t Statement::inserted_id() const {
  return sqlite3_last_insert_rowid(sqlite3_db_handle(statement_.get()));
}

int Statement::column_count() const { return sqlite3_column_count(statement_.get()); }

const char* Statement::column_name(int column) const {
  return sqlite3_column_name(statement_.get(), column);
}

int Statement::column_type(int column) const {
  return sqlite3_column_type(statement_.get(), column);
}

bool Statement::is_null(int column) const { return column_type(column) == SQLITE_NULL; }

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string_view Statement::text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(size)};
}

void Database::Closer::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Error Database::failure(std::string_view sql) const {
  return sqlite_error(sqlite3_extended_errcode(handle()), sqlite3_system_errno(handle()),
                      sqlite3_errmsg(handle()), path_, sql);
}

void Database::wait_for_others(int most_ms) { sqlite3_busy_timeout(handle(), most_ms); }

Status Database::configure(Mode mode) {
  wait_for_others(kBusyTimeoutMs);
  const bool read_only = mode == Mode::kReadOnly || mode == Mode::kImmutable;
  const int options[][2] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                            {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                            {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                            {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}};
  for (const auto& [option, value] : options) {
    if (sqlite3_db_config(handle(), option, value, nullptr) != SQLITE_OK) return failure("");
  }
  // VACUUM INTO writes files even on a read-only connection, by attaching them.
  if (read_only) sqlite3_limit(handle(), SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle(), SQLITE_LIMIT_LENGTH, kLongestValue);
  // A file that another process cuts off must give an error, not a SIGBUS.
  SONDE_TRY(exec("PRAGMA mmap_size=0; PRAGMA cell_size_check=ON"));
  // SQLite opens lazily; this reads the header and the schema now.
  SONDE_TRY(integer("SELECT count(*) FROM sqlite_master"));
  return ok_status();
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  if (mode == Mode::kCreate) {
    SONDE_TRY(create_empty(path));
  } else {
    SONDE_TRY(require_file(path));
  }
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (mode == Mode::kImmutable) flags |= SQLITE_OPEN_URI;
  flags |= mode == Mode::kReadOnly || mode == Mode::kImmutable ? SQLITE_OPEN_READONLY
                                                               : SQLITE_OPEN_READWRITE;
  const std::string name = mode == Mode::kImmutable ? immutable_uri(path) : plain_path(path);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  Database database;
  database.handle_.reset(handle);
  database.path_ = path;
  if (handle == nullptr) return make_error(ErrorCode::kIo, sqlite3_errstr(code), path);
  Status status = code == SQLITE_OK ? database.configure(mode) : database.failure("");
  if (!status) {
    if (mode == Mode::kCreate) ::unlink(path.c_str());
    return std::move(status).error();
  }
  return database;
}

Status Database::exec(std::string_view sql) {
  const std::string text(sql);
  if (sqlite3_exec(handle(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failure(sql);
  }
  return ok_status();
}

Result<Statement> Database::prepare(std::string_view sql) {
  Statement statement;
  statement.path_ = path_;
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  if (sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()), 0, &raw, &rest) !=
      SQLITE_OK) {
    return failure(sql);
  }
  statement.statement_.reset(raw);
  if (raw == nullptr) {
    return make_error(ErrorCode::kBadData, "the SQL statement is empty", path_);
  }
  const std::string_view tail = sql.substr(static_cast<size_t>(rest - sql.data()));
  if (tail.find_first_not_of(" \t\r\n;") == std::string_view::npos) return statement;
  // What follows may still be a comment, which prepares to nothing.
  sqlite3_stmt* second = nullptr;
  const int code =
      sqlite3_prepare_v2(handle(), tail.data(), static_cast<int>(tail.size()), &second, nullptr);
  sqlite3_finalize(second);
  if (code != SQLITE_OK || second != nullptr) {
    return make_error(ErrorCode::kBadData, "there is more than one SQL statement", path_,
                      "give one statement at a time");
  }
  return statement;
}

Result<int64_t> Database::integer(std::string_view sql, int64_t fallback) {
  SONDE_ASSIGN(auto statement, prepare(sql));
  SONDE_ASSIGN(const bool row, statement.step());
  return row && !statement.is_null(0) ? statement.integer(0) : fallback;
}

Result<std::string> Database::text(std::string_view sql) {
  SONDE_ASSIGN(auto statement, prepare(sql));
  SONDE_ASSIGN(const bool row, statement.step());
  return row ? std::string(statement.text(0)) : std::string();
}

Result<bool> Database::has_table(std::string_view name) {
  SONDE_ASSIGN(auto statement,
               prepare("SELECT 1 FROM main.sqlite_master WHERE type IN ('table', 'view') AND "
                       "name = ?1 COLLATE NOCASE"));
  statement.bind(1, name);
  return statement.step();
}

Result<bool> Database::has_column(std::string_view table, std::string_view column) {
  SONDE_ASSIGN(
      auto statement,
      prepare("SELECT 1 FROM pragma_table_info(?1, 'main') WHERE name = ?2 COLLATE NOCASE"));
  statement.bind(1, table);
  statement.bind(2, column);
  return statement.step();
}

Result<Transaction> Transaction::begin(Database& database) {
  SONDE_TRY(database.exec("BEGIN"));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  // After some errors SQLite has rolled back by itself.
  if (database_ != nullptr && sqlite3_get_autocommit(database_->handle()) == 0) {
    sqlite3_exec(database_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

Status Transaction::commit() {
  SONDE_TRY(database_->exec("COMMIT"));
  database_ = nullptr;
  return ok_status();
}

}  // namespace sonde::store
