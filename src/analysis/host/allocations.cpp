#include "analysis/host/allocations.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/strings.h"

namespace sonde::analysis {
namespace {

// c10::DeviceType of torch.
constexpr int64_t kCpuDevice = 0;

std::string_view after_key(std::string_view args, std::string_view key) {
  const std::string json = "\"" + std::string(key) + "\"";
  size_t at = args.find(json);
  if (at != args.npos) {
    at = args.find(':', at + json.size());
    return at == args.npos ? std::string_view() : trim(args.substr(at + 1));
  }
  for (const std::string_view part : split(args, '|')) {
    const size_t equals = part.find('=');
    if (equals != part.npos && trim(part.substr(0, equals)) == key) {
      return trim(part.substr(equals + 1));
    }
  }
  return {};
}

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
  allocation.bytes = argument_number(args, "Bytes").value_or(0);
  const int64_t type = argument_number(args, "Device Type").value_or(kCpuDevice);
  const int64_t id = argument_number(args, "Device Id").value_or(-1);
  allocation.device = type == kCpuDevice ? "CPU" : fmt::format("GPU {}", id);
  if (type != kCpuDevice) allocation.gpu = id + first_gpu_of_process(trace, api);
  allocation.in_use_bytes = argument_number(args, "Total Allocated");
  allocation.reserved_bytes = argument_number(args, "Total Reserved");
  if (type == kCpuDevice) {  // torch does not keep its totals there: it says 0
    allocation.in_use_bytes.reset();
    allocation.reserved_bytes.reset();
  }
  return allocation;
}

// hipMalloc gives its pointer back under one of these names, hipFree takes it under another.
std::optional<int64_t> pointer_of(std::string_view args) {
  for (const char* key : {"ptr", "dev_ptr", "devPtr"}) {
    if (const auto pointer = argument_number(args, key)) return pointer;
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

std::optional<int64_t> argument_number(std::string_view args, std::string_view key) {
  std::string_view text = after_key(args, key);
  if (!text.empty() && text.front() == '"') text.remove_prefix(1);
  const bool is_hex = text.substr(0, 2) == "0x";
  if (is_hex) text.remove_prefix(2);
  if (is_hex) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return error == std::errc() ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

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
      auto size = argument_number(args, "size");
      if (!size) size = argument_number(args, "sizeBytes");
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
