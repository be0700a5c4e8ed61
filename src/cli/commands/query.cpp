#include <fmt/format.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "cli/common.h"
#include "cli/terminal.h"
#include "importers/import.h"
#include "report/layout.h"
#include "report/render.h"
#include "store/read_only.h"
#include "store/reader.h"

namespace sonde::cli {
namespace {

report::Value value_of(const store::Statement& rows, int column) {
  switch (store::value_type(rows, column)) {
    case store::ValueType::kInteger:
      return rows.integer(column);
    case store::ValueType::kReal:
      return rows.real(column);
    case store::ValueType::kNull:
      return std::monostate{};
    case store::ValueType::kBlob: {
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

// The rows are printed as they come, a part at a time: a result may be larger than memory. Text is
// laid out by the first part.
constexpr size_t kRowsOfPart = 1000;

class Printer {
 public:
  Printer(const Arguments& arguments, const std::string& path, size_t limit)
      : renderer_(*report::find_renderer(arguments.value_or("format", "text"))), limit_(limit) {
    options_.width = report::terminal_width(STDOUT_FILENO);
    options_.colour = report::wants_colour(STDOUT_FILENO);
    report_.name = "query";
    report_.subject = path;
    report_.sections.push_back({"rows", "", {}, {}, ""});
  }

  Status print(store::Statement& rows) {
    add_columns(rows, table());
    for (;;) {
      SONDE_ASSIGN(const bool more, rows.step());
      if (!more) break;
      if (limit_ != 0 && part_.rows_before + table().rows.size() >= limit_) {
        ++table().rows_left_out;
        continue;
      }
      if (table().rows.size() == kRowsOfPart) SONDE_TRY(write(false));
      std::vector<report::Value> row;
      for (int c = 0; c < rows.column_count(); ++c) row.push_back(value_of(rows, c));
      table().add_row(std::move(row));
    }
    return write(true);
  }

 private:
  report::Table& table() { return report_.sections.front().table; }

  Status write(bool last) {
    if (part_.first) choose_alignment(table());
    part_.last = last;
    SONDE_TRY(write_stdout(renderer_.render_part(report_, options_, part_)));
    part_.first = false;
    part_.rows_before += table().rows.size();
    table().rows.clear();
    return ok_status();
  }

  const report::Renderer& renderer_;
  const size_t limit_;
  report::RenderOptions options_;
  report::Report report_;
  report::Part part_;
};

// Whether the words are SQL and FILE: taken either way round, as sqlite3 takes the file first.
bool is_turned_around(const std::string& first, const std::string& second) {
  const auto is_file = [](const std::string& word) {
    return word == "-" || ::access(word.c_str(), F_OK) == 0;
  };
  if (is_file(first) != is_file(second)) return is_file(second);
  return first.find(' ') != first.npos && second.find(' ') == second.npos;
}

Result<int> run(const Arguments& arguments) {
  std::string path = arguments.positionals()[0];
  std::string sql = arguments.positionals()[1];
  if (is_turned_around(path, sql)) std::swap(path, sql);
  const auto limit = whole_number(arguments, "limit");
  if (!limit) return usage_error("query", limit.error());
  SONDE_ASSIGN(auto reader, importers::open_trace(path, arguments.value_or("as", "")));
  SONDE_ASSIGN(auto rows, store::prepare_read_only(reader.database(), sql));
  SONDE_TRY(Printer(arguments, path, static_cast<size_t>(limit->value_or(0))).print(rows));
  return 0;
}

}  // namespace

const Command& query_command() {
  static const Command kCommand{
      "query",
      "Ask",
      "Run an SQL query on a trace",
      "The query sees the file's own tables and views (rocpd_op, api, top ...) and, whatever "
      "version the file has, the views v_op, v_api, v_api_op, v_op_detail, v_copy, v_monitor, "
      "v_process, v_thread, v_device, v_counter, v_string and v_ustring with the same columns for "
      "all versions, and sonde_op, sonde_api, sonde_top, sonde_ktop, sonde_api_top, sonde_busy, "
      "sonde_kernel and sonde_copy, which hold the figures the other commands print.\n\n"
      "One statement that only reads; anything else is refused. Rows are printed as they come, so "
      "a result may be larger than memory; columns of text are as wide as the first 1,000 rows "
      "need.",
      {trace_file(), {"SQL", "the query; it and FILE are taken either way round"}},
      {as_option(), format_option(), limit_option("all")},
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
