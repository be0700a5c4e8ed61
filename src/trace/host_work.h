// What a call means for the host when a GPU waits for the host. All tables of names are here, like
// those of category.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/category.h"

namespace sonde::trace {

// Work with a purpose comes first: calls inside of it count as it.
enum class HostWork : uint8_t {
  kDataLoading,  // a data loader: markers and frames named DataLoader
  kCollection,   // Python's garbage collection
  kCompiling,    // of kernels at run time
  kModuleLoad,   // code for the device
  kFree,         // of memory of a device, which waits for it as well
  kAllocation,
  kWaiting,  // a call that waits for a device
  kBlocked,  // for input, another thread, process or rank, or a timer: a call or a frame of Python
  kCall,     // any other call of a runtime
  kOperator,
  kPython,
  kRange,    // a marker, with nothing more exact in it
  kNothing,  // no call that was recorded
};
constexpr size_t kHostWorks = 13;
const char* host_work_name(HostWork work);  // "data loading"
// The name of several calls with the purpose of this one: "freeing or allocating".
const char* purpose_name(HostWork work);
constexpr bool has_a_purpose(HostWork work) { return work <= HostWork::kAllocation; }
// Whether work counts as the one that it is inside of: a data loader reads files, and where a
// function of Python waits for input, so does the built-in one by which it reads.
bool is_part_of(HostWork inner, std::string_view inner_name, HostWork outer);

// The purpose that several kinds of work share, by one of them: both compiling and loading get code
// to the device, both freeing and allocating are the use of its memory.
constexpr HostWork purpose_of(HostWork work) {
  if (work == HostWork::kModuleLoad) return HostWork::kCompiling;
  return work == HostWork::kAllocation ? HostWork::kFree : work;
}

HostWork host_work_of(ApiKind kind, std::string_view name);

// "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
// "torch/utils/data/dataloader.py(634):
// __next__", "train_dataloader_next": an identifier in the name ends with the word, or with it and
// a loader's step.
bool is_data_loader(std::string_view name);
// "Python GC" is torch's, the others are frames.
bool is_collector(std::string_view name);

}  // namespace sonde::trace
