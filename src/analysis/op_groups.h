// Operations by whatever a user may ask for: --by name, operator, stream ... Used by kernels.
#pragma once

#include <string>
#include <vector>

#include "analysis/groups.h"

namespace sonde::analysis {

// Operations grouped by a property, and the columns that say which group it is.
struct OpGroups {
  std::vector<report::Column> columns;
  std::vector<std::vector<report::Value>> keys;  // by group; as many values as columns
  std::vector<uint32_t> group_of;                // by row; kNoGroup where `wanted` is false
};

// What --by takes, and what a trace must be loaded with for it.
const std::vector<std::string>& op_group_names();
void add_needs_of_group(const std::string& by, trace::Request& request);

OpGroups group_ops(const trace::Trace& trace, const std::string& by,
                   const std::vector<bool>& wanted);

}  // namespace sonde::analysis
