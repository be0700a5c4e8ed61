// Choosing, sorting and cutting a finished table: what --table, --sort and --limit do, for every
// command alike.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/report.h"

namespace sonde::report {

// Sorts by `column` (a key or title): numbers largest first, text in alphabetical order, unknown
// values last; "-NAME" turns the order round. Rows that are equal keep their order.
Status sort_table(Table& table, std::string_view column);

// Leaves one table: of the section with this key, the facts of a section that has a table as well
// by "KEY_facts", or the first table for "". Returns the names of the others.
Result<std::string> choose_table(Report& report, std::string_view name);

// Keeps the first `limit` rows and counts the rest in rows_left_out; 0 keeps all.
void limit_table(Table& table, size_t limit);

// The same for all tables of a report. A tree is cut by share, because a row count would hide
// branches of any size: it is left whole unless `trees_too`.
void limit_tables(Report& report, size_t limit, bool trees_too);

}  // namespace sonde::report
