#include "store/limited_query.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <string_view>

#include "base/strings.h"
#include "base/time.h"
#include "store/read_only.h"

namespace sonde::store {
namespace {

constexpr int kStepsBetweenLooks = 10'000;
constexpr int64_t kLargestExact = (int64_t{1} << 53) - 1;

int allow(void*, int action, const char*, const char* name, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      for (const std::string_view no :
           {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}) {
        if (name != nullptr && sqlite3_stricmp(name, no.data()) == 0) return SQLITE_DENY;
      }
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

// The limits of a connection for as long as a query runs. SQLite holds a pointer to it.
class Bounds {
 public:
  Bounds(sqlite3* handle, const QueryLimits& limits)
      : handle_(handle), until_ns_(monotonic_now_ns() + limits.time_ns) {
    length_ = sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, static_cast<int>(limits.bytes));
    sqlite3_set_authorizer(handle_, allow, nullptr);
    sqlite3_progress_handler(
        handle_, kStepsBetweenLooks,
        [](void* self) { return static_cast<Bounds*>(self)->is_late() ? 1 : 0; }, this);
  }
  Bounds(const Bounds&) = delete;
  Bounds& operator=(const Bounds&) = delete;
  ~Bounds() {
    sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
    sqlite3_set_authorizer(handle_, nullptr, nullptr);
    sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, length_);
  }
  bool is_late() const { return monotonic_now_ns() >= until_ns_; }

 private:
  sqlite3* handle_;
  int64_t until_ns_;
  int length_ = 0;
};

std::string json_of(const Statement& row, int column) {
  switch (value_type(row, column)) {
    case ValueType::kInteger:
      return json_integer(row.integer(column));
    case ValueType::kReal: {
      const double value = row.real(column);
      return std::isfinite(value) ? fmt::format("{}", value) : "null";
    }
    case ValueType::kText:
      return json_quote(row.text(column));
    case ValueType::kBlob:
      return fmt::format("\"{} bytes\"", row.text(column).size());
    case ValueType::kNull:
      break;
  }
  return "null";
}

Status read_rows(Statement& statement, const QueryLimits& limits, QueryResult& result) {
  size_t bytes = 0;
  for (;;) {
    SONDE_ASSIGN(const bool more, statement.step());
    if (!more) return ok_status();
    if (result.rows.size() >= limits.rows || bytes >= limits.bytes) {
      result.cut = true;
      return ok_status();
    }
    std::vector<std::string>& row = result.rows.emplace_back();
    for (int c = 0; c < statement.column_count(); ++c) {
      row.push_back(json_of(statement, c));
      bytes += row.back().size();
    }
  }
}

}  // namespace

std::string json_integer(int64_t value) {
  const bool is_exact = value >= -kLargestExact && value <= kLargestExact;
  return is_exact ? std::to_string(value) : fmt::format("\"{}\"", value);
}

Result<QueryResult> limited_query(Database& database, const std::string& sql,
                                  const QueryLimits& limits) {
  SONDE_TRY(prepare_read_only(database, sql));
  const Bounds bounds(database.handle(), limits);
  SONDE_ASSIGN(Statement statement, database.prepare(sql));
  QueryResult result;
  for (int c = 0; c < statement.column_count(); ++c) {
    result.columns.emplace_back(statement.column_name(c));
  }
  const Status read = read_rows(statement, limits, result);
  if (read) return result;
  if (!bounds.is_late()) return read.error();
  return make_error(ErrorCode::kInvalidArgument,
                    fmt::format("the query takes longer than {}", format_duration(limits.time_ns)),
                    database.path(), "ask for less, or use sonde query");
}

}  // namespace sonde::store
