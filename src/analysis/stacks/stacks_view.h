// How `stacks` shows a CallTree: as a table, flat or indented, and as a flame graph.
#pragma once

#include <string>

#include "analysis/analysis.h"
#include "analysis/stacks/call_tree.h"

namespace sonde::analysis {

// The weight that a word asks for; "auto" is what the trace has.
Weight weight_of(const trace::Trace& trace, const std::string& word);

Result<std::optional<int64_t>> number_of(const Parameters& parameters, const char* option);
Result<double> least_share(const Parameters& parameters);  // 0 to 100

// `by` is user, leaf, stack, tree or callers.
report::Section tree_section(const CallTree& tree, const std::string& by, Weight weight,
                             double least_percentage);

// What the figures do not say by themselves.
void add_notes(const trace::Trace& trace, const CallTree& tree, Weight weight,
               report::Report& report);

}  // namespace sonde::analysis
