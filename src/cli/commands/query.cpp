// Read-only twice over: the file is opened so that SQLite cannot write it, and an authoriser
// refuses what would write elsewhere (ATTACH, temporary tables, VACUUM INTO) with a message of
// ours.
#include <fmt/format.h>
#include <sqlite3.h>

#include <set>

#include "cli/common.h"
#include "store/reader.h"

namespace sonde::cli {
namespace {

int allow_reading(void* refused, int action, const char*, const char*, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
    case SQLITE_PRAGMA:
      return SQLITE_OK;
    default:
      *static_cast<bool*>(refused) = true;
      return SQLITE_DENY;
  }
}

// The authoriser holds a pointer to `refused_`, so a Guard does not move.
class Guard {
 public:
  explicit Guard(sqlite3* handle) : handle_(handle) {
    sqlite3_set_authorizer(handle_, allow_reading, &refused_);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { sqlite3_set_authorizer(handle_, nullptr, nullptr); }
  bool refused() const { return refused_; }

 private:
  sqlite3* handle_;
  bool refused_ = false;
};

Error read_only_error(const std::string& path) {
  return make_error(ErrorCode::kInvalidArgument, "the query would write", path,
                    "sonde query only reads; use sqlite3 on a copy");
}

// A second statement would be ignored without a word.
Status check_single(sqlite3* handle, const std::string& sql, const std::string& path) {
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, &rest);
  const bool reads = code != SQLITE_OK || statement == nullptr || sqlite3_stmt_readonly(statement);
  const bool empty = code == SQLITE_OK && statement == nullptr;
  sqlite3_finalize(statement);
  if (empty) return make_error(ErrorCode::kInvalidArgument, "the query is empty", path);
  if (!reads) return read_only_error(path);
  if (code != SQLITE_OK) return ok_status();  // Database::prepare says what is wrong
  sqlite3_stmt* next = nullptr;
  const int next_code = sqlite3_prepare_v2(handle, rest, -1, &next, nullptr);
  const bool single = next_code == SQLITE_OK && next == nullptr;
  sqlite3_finalize(next);
  if (single) return ok_status();
  return make_error(ErrorCode::kInvalidArgument, "more than one statement", path,
                    "give one query; WITH can hold the steps before it");
}

report::Value value_of(const store::Statement& rows, int column) {
  switch (rows.column_type(column)) {
    case SQLITE_INTEGER:
      return rows.integer(column);
    case SQLITE_FLOAT:
      return rows.real(column);
    case SQLITE_NULL:
      return std::monostate{};
    case SQLITE_BLOB: {
      std::string hex = "x'";
      for (const char byte : rows.text(column)) {
        hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      }
      return hex + "'";
    }
    default:
      return std::string(rows.text(column));
  }
}

// JSON needs different keys: a second "start" becomes "start:1", as in SQLite's own views.
void add_columns(const store::Statement& rows, report::Table& table) {
  std::set<std::string> taken;
  for (int c = 0; c < rows.column_count(); ++c) {
    const std::string name = rows.column_name(c);
    std::string key = name;
    for (int n = 1; !taken.insert(key).second; ++n) key = fmt::format("{}:{}", name, n);
    report::Column column{key, key, report::Kind::kId, 6};
    table.add_column(column);
  }
}

// Text aligns left, numbers right; decided by what the column holds.
void choose_alignment(report::Table& table) {
  for (size_t c = 0; c < table.columns.size(); ++c) {
    for (const auto& row : table.rows) {
      if (std::holds_alternative<std::string>(row[c])) {
        table.columns[c].kind = report::Kind::kText;
        break;
      }
    }
  }
}

Result<int> run(const Arguments& arguments) {
  const std::string& path = arguments.positionals()[0];
  const std::string& sql = arguments.positionals()[1];
  SONDE_ASSIGN(auto reader, store::Reader::open(path));
  store::Database& database = reader.database();
  const Guard guard(database.handle());
  const Status single = check_single(database.handle(), sql, path);
  if (guard.refused()) return read_only_error(path);
  SONDE_TRY(single);
  SONDE_ASSIGN(auto rows, database.prepare(sql));
  report::Report report;
  report.name = "query";
  report.subject = path;
  report::Section section{"rows", "", {}, {}, ""};
  add_columns(rows, section.table);
  for (;;) {
    SONDE_ASSIGN(const bool more, rows.step());
    if (!more) break;
    std::vector<report::Value> row;
    for (int c = 0; c < rows.column_count(); ++c) row.push_back(value_of(rows, c));
    section.table.add_row(std::move(row));
  }
  choose_alignment(section.table);
  report.sections.push_back(std::move(section));
  return print_report(arguments, std::move(report), 0);
}

}  // namespace

const Command& query_command() {
  static const Command kCommand{
      "query",
      "Ask",
      "Run an SQL query on a trace",
      "The query sees the file's own tables and views (rocpd_op, api, top ...) and, whatever "
      "version "
      "the file has, the views v_op, v_api, v_api_op, v_op_detail, v_copy, v_monitor, v_process, "
      "v_thread, v_device, v_counter, v_string and v_ustring with the same columns for all "
      "versions, "
      "and sonde_op, sonde_api, sonde_top, sonde_ktop, sonde_api_top, sonde_busy, sonde_kernel and "
      "sonde_copy, which hold the figures the other commands print.\n\n"
      "One statement that only reads; anything else is refused.",
      {trace_file(), {"SQL", "the query"}},
      {format_option(), limit_option("all")},
      {{"sonde query trace.rpd \"select name, total_ns from sonde_top limit 3\"",
        "the first three rows of sonde top"},
       {"sonde query trace.rpd \"select * from v_op order by end_ns - start_ns desc limit 10\" "
        "--format csv",
        "the ten longest operations"}},
      false,
      run};
  return kCommand;
}

}  // namespace sonde::cli
