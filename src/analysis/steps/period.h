// Slow steps that are equally far apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace sonde::analysis {

// How far apart the slow steps of every process are, if it is the same in each, with three or more
// slow ones and none missing between, before or after them; else 0. `is_slow`: the steps of each
// process in their order. A first step may be slow for reasons of its own.
size_t period_of_slow(const std::map<int32_t, std::vector<bool>>& is_slow);

}  // namespace sonde::analysis
