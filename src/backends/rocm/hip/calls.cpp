#include "backends/rocm/hip/calls.h"

#include <string.h>

#include "backends/rocm/hip/activity.h"
#include "backends/rocm/hip/arguments.h"
#include "backends/rocm/hip/copies.h"
#include "backends/rocm/hsa/call_errors.h"

namespace sonde::hip {
namespace {

using rocm::t_launch;

// Offset in hipLaunchConfig_t and HIP_LAUNCH_CONFIG: grid, block, bytes of shared memory, stream.
constexpr size_t kStreamOfConfig = 32;

uint64_t stream_of(const FunctionInfo& function, const char* data) {
  const bool has_config = function.count != 0 && function.parameters[0].role == Role::kConfig;
  if (function.stream == function.count && !has_config) return 0;
  uint64_t value;
  memcpy(&value, data + function.parameters[has_config ? 0 : function.stream].offset, sizeof value);
  if (!has_config || value == 0) return value;
  memcpy(&value, reinterpret_cast<const char*>(value) + kStreamOfConfig, sizeof value);
  return value;
}

// For copies of rows, only the pointers are filled in.
hsa::CallMemory memory_of(const FunctionInfo& function, const char* data) {
  hsa::CallMemory memory;
  const auto word = [&](size_t i) {
    uint64_t value;
    memcpy(&value, data + function.parameters[i].offset, sizeof value);
    return value;
  };
  const bool moves = function.category == Category::copy || function.category == Category::memset;
  for (size_t i = 0; moves && i < function.count; ++i) {
    const Parameter& parameter = function.parameters[i];
    if (parameter.role == Role::kBytes) memory.bytes = word(i);
    if (parameter.kind != Kind::kPointer) continue;
    if (parameter.role == Role::kDst) memory.to = word(i);
    if (parameter.role == Role::kSrc) memory.from = word(i);
  }
  memory.frees = function.category == Category::memory && function.count != 0 &&
                 function.parameters[0].kind == Kind::kPointer &&
                 strstr(function.name, "Free") != nullptr;
  if (memory.frees) memory.to = word(0);
  return memory;
}

void note_error(const FunctionInfo& function, const char* data, int result) {
  if (function.category == Category::error) return hsa::note_repeated_error(function.name, result);
  hsa::note_call_error(function.name, result, memory_of(function, data));
}

}  // namespace

void begin_call(const FunctionInfo& function, uint32_t defined, OpenCall* open) {
  const int kind = function.launches  ? SONDE_CALL_LAUNCHES
                   : function.in_full ? SONDE_CALL_CORRELATED
                                      : SONDE_CALL_PLAIN;
  open->call = rocm::agent().call_begin(defined, kind);
  if (!function.in_full) return;
  open->outer = t_launch;
  t_launch.correlation = open->call.correlation;
  t_launch.stream = 0;
  t_launch.flags = SONDE_OP_HAS_STREAM | (describes_copy(function) ? SONDE_OP_HAS_REQUEST : 0);
}

void look_at_parameters(const FunctionInfo& function, const char* data) {
  if (!function.in_full) return;
  t_launch.stream = stream_of(function, data);
  if (!rocm::g_hsa_reports_ops && function.category == Category::launch) {
    t_launch.name = kernel_name(function, data);
  }
}

void end_packed_call(const FunctionInfo& function, const char* data, int result,
                     const OpenCall& open, const uint64_t* words, size_t count) {
  if (function.in_full) t_launch = open.outer;
  if (result != 0) note_error(function, data, result);
  if (open.call.private_data == 0) return;
  if (result == 0 && describes_copy(function)) {
    describe_copy(function, data, open.call.correlation);
  }
  rocm::agent().call_end(&open.call, result, words, count);
}

void end_call(const FunctionInfo* function, const char* data, int result, const OpenCall& open) {
  if (function == nullptr) {
    t_launch = open.outer;
    return rocm::agent().call_end(&open.call, result, nullptr, 0);
  }
  sonde_args args;
  args.count = 0;
  pack_all(&args, *function, data, result);
  end_packed_call(*function, data, result, open, args.words, args.count);
}

void record_light_call(const FunctionInfo& function, const char* data, int result, uint64_t begin,
                       uint64_t end) {
  sonde_args args;
  args.count = 0;
  pack_all(&args, function, data, result);
  rocm::agent().call_at(function.defined, begin, end, result, args.words, args.count);
  if (result != 0) note_error(function, data, result);
}

}  // namespace sonde::hip
