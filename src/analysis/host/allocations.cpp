#include "analysis/host/allocations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/arguments.h"

namespace sonde::analysis {
namespace {

// c10::DeviceType of torch.
constexpr int64_t kCpuDevice = 0;

// What a merged file adds to the numbers that the events name.
int64_t first_gpu_of_process(const trace::Trace& trace, size_t api) {
  const int32_t process = trace.threads[trace.apis.thread[api]].process;
  if (process == trace::kNone) return 0;
  const int64_t pid = trace.processes[static_cast<size_t>(process)].pid;
  return trace::first_gpu_of_file(trace::file_of(pid));
}

Allocation of_torch(const trace::Trace& trace, size_t api) {
  const std::string& args = trace.texts[trace.apis.args[api]];
  Allocation allocation;
  allocation.time_ns = trace.apis.start_ns[api];
  allocation.api = static_cast<trace::Row>(api);
  allocation.bytes = number_argument(args, "Bytes").value_or(0);
  const int64_t type = number_argument(args, "Device Type").value_or(kCpuDevice);
  const int64_t id = number_argument(args, "Device Id").value_or(-1);
  allocation.device = type == kCpuDevice ? "CPU" : fmt::format("GPU {}", id);
  if (type != kCpuDevice) allocation.gpu = id + first_gpu_of_process(trace, api);
  allocation.in_use_bytes = number_argument(args, "Total Allocated");
  allocation.reserved_bytes = number_argument(args, "Total Reserved");
  if (type == kCpuDevice) {  // torch does not keep its totals there: it says 0
    allocation.in_use_bytes.reset();
    allocation.reserved_bytes.reset();
  }
  return allocation;
}

// hipMalloc gives its pointer back under one of these names, hipFree takes it under another.
std::optional<int64_t> pointer_of(std::string_view args) {
  for (const char* key : {"ptr", "dev_ptr", "devPtr"}) {
    if (const auto pointer = number_argument(args, key)) return pointer;
  }
  return std::nullopt;
}

int32_t process_of(const trace::Trace& trace, trace::Row api) {
  return trace.threads[trace.apis.thread[static_cast<size_t>(api)]].process;
}

// The devices of several processes are different ones, or share nothing but their memory's size.
void tell_processes_apart(const trace::Trace& trace, std::vector<Allocation>& allocations) {
  const auto is_of_first = [&](const Allocation& allocation) {
    return process_of(trace, allocation.api) == process_of(trace, allocations.front().api);
  };
  if (std::all_of(allocations.begin(), allocations.end(), is_of_first)) return;
  for (Allocation& allocation : allocations) {
    const int32_t process = process_of(trace, allocation.api);
    if (process == trace::kNone) continue;
    const trace::Process& owner = trace.processes[static_cast<size_t>(process)];
    allocation.device += owner.rank ? fmt::format(" of rank {}", *owner.rank)
                                    : fmt::format(" of process {}", owner.pid);
  }
}

}  // namespace

std::vector<Allocation> allocations_of(const trace::Trace& trace, uint64_t& unpaired) {
  std::vector<Allocation> allocations;
  std::map<std::pair<int32_t, int64_t>, int64_t> bytes_at;  // by process and pointer
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.apis.args[i] == 0) continue;
    if (trace.apis.kind[i] == trace::ApiKind::kMemory) {
      allocations.push_back(of_torch(trace, i));
      continue;
    }
    const std::string& name = trace.names[trace.apis.name[i]];
    if (!trace::is_memory_call(name)) continue;
    const std::string& args = trace.texts[trace.apis.args[i]];
    const auto pointer = pointer_of(args);
    if (!pointer || *pointer == 0) continue;
    const std::pair place(process_of(trace, static_cast<trace::Row>(i)), *pointer);
    Allocation allocation;
    allocation.device = "GPU";
    allocation.api = static_cast<trace::Row>(i);
    allocation.time_ns = trace.apis.end_ns[i];
    if (name.find("Free") == name.npos) {
      auto size = number_argument(args, "size");
      if (!size) size = number_argument(args, "sizeBytes");
      if (!size) continue;
      allocation.bytes = *size;
      bytes_at[place] = *size;
    } else {
      const auto found = bytes_at.find(place);
      if (found == bytes_at.end()) {
        ++unpaired;
        continue;
      }
      allocation.bytes = -found->second;
      bytes_at.erase(found);
    }
    allocations.push_back(std::move(allocation));
  }
  std::stable_sort(allocations.begin(), allocations.end(),
                   [](const Allocation& a, const Allocation& b) { return a.time_ns < b.time_ns; });
  if (!allocations.empty()) tell_processes_apart(trace, allocations);
  return allocations;
}

}  // namespace sonde::analysis
