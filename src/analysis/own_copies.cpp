#include "analysis/own_copies.h"

namespace sonde::analysis {
namespace {

// A call that waited returns soon after the copy. One that took long for itself, while a short copy
// began and ended, does not: its time is the host's.
constexpr int64_t kSoon = 4;

bool has(const std::string& name, std::string_view word) { return name.find(word) != name.npos; }

}  // namespace

bool is_awaited_by_its_call(const trace::Trace& trace, size_t op) {
  if (trace.ops.api.empty() || trace.ops.api[op] == trace::kNone) return false;
  if (trace.class_of(op) != trace::OpClass::kCopy) return false;
  const auto call = static_cast<size_t>(trace.ops.api[op]);
  const int64_t before_ns = trace.ops.end_ns[op] - trace.apis.start_ns[call];
  const int64_t after_ns = trace.apis.end_ns[call] - trace.ops.end_ns[op];
  const bool copies = trace.apis.kind[call] == trace::ApiKind::kRuntime &&
                      has(trace.names[trace.apis.name[call]], "emcpy");
  if (!copies || before_ns <= 0) return false;  // a graph's call does not wait for the copies in it
  const std::string& name = trace.names[trace.label(op)];
  if (has(name, "Pinned") || has(name, "DtoD") || has(name, "DeviceToDevice")) return false;
  // What is copied to the host is awaited for certain: clocks may show its end too late. What is
  // copied to the device, until what was in the stream is over and the host's memory may be used
  // again: the rest of it may still be under way.
  if (after_ns < 0) {
    const bool began = trace.ops.start_ns[op] <= trace.apis.end_ns[call];
    return has(name, "-> Pageable") || (has(name, "Pageable ->") && began);
  }
  return after_ns <= before_ns / kSoon;
}

}  // namespace sonde::analysis
