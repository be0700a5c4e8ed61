// The words rocprofv3 and rocpd use for what an .rpd calls otherwise, and folders of tables. Used
// by the exporters of both and of rocprof.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "export/events/events.h"
#include "export/exporter.h"
#include "export/output/new_folder.h"

namespace sonde::exporting {

// Which way a copy went. Types that are not copies between host and device (fills, maps) keep their
// .rpd name and stay on the device.
struct CopyDirection {
  std::string_view type;  // rocpd_op.opType
  std::string_view word;  // "MEMORY_COPY_HOST_TO_DEVICE"
  bool from_host = false, to_host = false;
};
CopyDirection copy_direction(std::string_view type);

// "HIP_RUNTIME_API" for "hip", "OPENCL_API" for "opencl".
std::string domain_word(std::string_view domain);
constexpr std::string_view kMarkerDomain = "MARKER_CORE_API";

// A domain as part of a file's name: lower case letters, digits and '_'.
std::string file_word(std::string_view domain);

// Agents are numbered as on a machine with one CPU node, which is 0; GPUs follow.
constexpr int64_t kHostAgent = 0;
constexpr int64_t agent_of_gpu(int64_t gpu_id) { return gpu_id + 1; }

// The work items of a kernel, on one axis and in one of its groups; -1 if an axis is not known. All
// axes are multiplied.
int64_t work_items(const Shape& shape);
int64_t work_items(const Shape& shape, int axis);
int64_t group_items(const Shape& shape);

// The thread whose call launched it; -1: not known.
int64_t launching_thread(const Events& events, const Op& op);

// What rocprof's table and rocprof-compute's say of a kernel, in their order: process, thread, work
// items, those of a group, LDS, scratch, VGPRs, AccVGPRs, SGPRs; below 0 where it is not known.
std::array<int64_t, 9> kernel_figures(const Events& events, const Op& op);

// An exporter's function for what Tables(events, folder).write() writes.
template <typename Tables>
Result<Counts> write_tables(store::Reader& reader, const std::string& path,
                            const Options& options) {
  SONDE_ASSIGN(const Events events, load_events(reader, options, OfOps::kAll));
  SONDE_ASSIGN(NewFolder folder, NewFolder::create(path));
  SONDE_ASSIGN(const Counts counts, Tables(events, path).write());
  folder.keep();
  return counts;
}

}  // namespace sonde::exporting
