// What the grid of a launch counts where a tool keeps the call's arguments as they were given, as
// RPD's and PyTorch's recorders do: work groups, but work items for these calls of HIP. Used by
// the views of other tools' files and by the importer of PyTorch's traces.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace sonde::store {

inline constexpr std::string_view kWorkItemLaunches[] = {"hipExtModuleLaunchKernel",
                                                         "hipHccModuleLaunchKernel"};

inline bool counts_work_items(std::string_view call) {
  return std::find(std::begin(kWorkItemLaunches), std::end(kWorkItemLaunches), call) !=
         std::end(kWorkItemLaunches);
}

}  // namespace sonde::store
