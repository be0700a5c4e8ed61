#include <fmt/format.h>

#include <set>

#include "cli/common.h"
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

Result<int> run(const Arguments& arguments) {
  const std::string& path = arguments.positionals()[0];
  const std::string& sql = arguments.positionals()[1];
  SONDE_ASSIGN(auto reader, open_trace(arguments));
  SONDE_ASSIGN(auto rows, store::prepare_read_only(reader.database(), sql));
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
      "version the file has, the views v_op, v_api, v_api_op, v_op_detail, v_copy, v_monitor, "
      "v_process, v_thread, v_device, v_counter, v_string and v_ustring with the same columns for "
      "all versions, and sonde_op, sonde_api, sonde_top, sonde_ktop, sonde_api_top, sonde_busy, "
      "sonde_kernel and sonde_copy, which hold the figures the other commands print.\n\n"
      "One statement that only reads; anything else is refused.",
      {trace_file(), {"SQL", "the query"}},
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
