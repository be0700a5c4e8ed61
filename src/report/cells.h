// A table as people read it: titles with their units and the text of each cell. Shared by the
// renderers for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/render.h"
#include "report/report.h"

namespace sonde::report {

inline bool is_text(Kind kind) { return kind == Kind::kText || kind == Kind::kName; }
std::string fact_text(const Fact& fact, bool exact);  // with the unit

// A value for programs: text as `quoted` writes it, `none` for what is not known.
std::string plain_text(const Value& value, std::string (*quoted)(std::string_view),
                       const char* none);

struct Cells {
  std::vector<std::string> titles;              // "Total us", "Share %"
  std::vector<std::vector<std::string>> texts;  // column by column
};
// The units of times are those of `part`, whose first part decides them.
Cells cells_of(const Table& table, const RenderOptions& options, Part& part);

}  // namespace sonde::report
