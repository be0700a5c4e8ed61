#include <unistd.h>

#include <utility>

#include "cli/common.h"
#include "cli/print_rows.h"
#include "importers/import.h"
#include "store/read_only.h"
#include "store/reader.h"

namespace sonde::cli {
namespace {

// Whether the words are SQL and FILE: either order is accepted, because sqlite3 takes the file
// first.
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
  SONDE_ASSIGN(const auto limit, whole_number(arguments, "limit"));
  SONDE_ASSIGN(auto reader, importers::open_trace(path, arguments.value_or("as", "")));
  SONDE_ASSIGN(auto rows, store::prepare_read_only(reader.database(), sql));
  SONDE_TRY(print_rows(arguments, rows, static_cast<size_t>(limit.value_or(0))));
  return 0;
}

constexpr const char* kText = R"(
query - Run an SQL query on a trace

The query sees the file's own tables and views (rocpd_op, api, top ...) and, whatever version the
file has, the views v_op, v_api, v_api_op, v_op_detail, v_copy, v_monitor, v_process, v_thread,
v_device, v_flow, v_op_args, v_counter, v_string and v_ustring with the same columns for all
versions, and sonde_op, sonde_api, sonde_top, sonde_ktop, sonde_api_top, sonde_busy, sonde_kernel and
sonde_copy, which hold the figures the other commands print.

SQL is one statement that only reads; anything else is refused. Rows are printed as they come, so a
result may be larger than memory; columns of text are as wide as the first 1,000 rows need.

Arguments:
FILE
SQL  the query; FILE and SQL may come in either order

Options:
--as --format
--limit  [all]

Examples:
sonde query trace.rpd "select name, total_ns from sonde_top limit 3"
    the first three rows of sonde top
sonde query trace.rpd "select * from v_copy limit 10" --format csv  ten copies, for a spreadsheet
)";

}  // namespace

Command query_command() { return make_command(kText, run); }

}  // namespace sonde::cli
