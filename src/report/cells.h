// A table as people read it: titles with their units and the text of each cell. Shared by the
// renderers for people.
#pragma once

#include <string>
#include <vector>

#include "report/render.h"
#include "report/report.h"

namespace sonde::report {

inline bool is_text(Kind kind) { return kind == Kind::kText || kind == Kind::kName; }
std::string fact_text(const Fact& fact, bool exact);  // with the unit

struct Cells {
  std::vector<std::string> titles;              // "Total us", "Share %"
  std::vector<std::vector<std::string>> texts;  // column by column
};
// The units of times are those of `part`, whose first part decides them.
Cells cells_of(const Table& table, const RenderOptions& options, Part& part);

}  // namespace sonde::report
