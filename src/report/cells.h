// The cells of a table as people read them. Shared by the renderers for people.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace sonde::report {

inline bool is_text(Kind kind) { return kind == Kind::kText || kind == Kind::kName; }
std::string title_of(const Column& column);  // with the unit: "Total us", "Share %"
std::string fact_text(const Fact& fact);     // with the unit
// All cells, column by column; names are shortened unless `full_names`.
std::vector<std::vector<std::string>> cells_of(const Table& table, bool full_names);

}  // namespace sonde::report
