// Names that differ from step to step in their number only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "trace/trace.h"

namespace sonde::analysis {

using Shares = std::map<trace::NameId, int64_t>;  // time by label
using Names = std::map<trace::NameId, std::string>;

// What is done in one of the steps only, under a name that differs from that in others by its last
// number, is done in each: the step's own marker, "forward batch 7". Puts it under one label in all
// of them, and returns how such labels are shown: "forward batch N".
Names join_numbered(const trace::Trace& trace, std::span<Shares* const> steps);

}  // namespace sonde::analysis
