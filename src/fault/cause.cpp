// The likely cause of a failure, in one sentence, and the evidence for it.
#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "fault/cause_parts.h"
#include "fault/compose.h"
#include "fault/findings.h"
#include "fault/violation.h"
#include "wire/fault_reasons.h"

namespace sonde::fault {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kNearNull = 64 << 10;
constexpr uint32_t kEcc = 0x10 | 0x40;
constexpr int64_t kFarBehind = int64_t{64} << 20;
// From a buffer that is not an argument of the kernel.
constexpr int64_t kFarFromOthers = int64_t{1} << 20;

// Status codes of the queue's error callback.
constexpr uint32_t kApertureViolation = 0x29, kIllegalInstruction = 0x2a, kException = 0x1016;
constexpr uint32_t kInvalidPacket = 0x1009, kInvalidIsa = 0x100f, kOutOfResources = 0x1008;

const Dispatch* culprit(const FaultReport& report) {
  return report.culprit ? &report.in_flight[*report.culprit] : nullptr;
}

std::string name_of(const Argument& argument, size_t index) {
  return argument.name.empty() ? fmt::format("argument {}", index)
                               : fmt::format("argument {} ({})", index, argument.name);
}

// "argument 1 (y)", or "" if the allocation is not an argument of the kernel.
std::string argument_text(const FaultReport& report, size_t allocation) {
  const Dispatch* dispatch = culprit(report);
  if (dispatch == nullptr) return {};
  for (size_t i = 0; i < dispatch->arguments.size(); ++i) {
    const Argument& argument = dispatch->arguments[i];
    const auto& place = argument.place;
    // A pointer to its end counts, too: loops may run backwards from there.
    if (place && place->allocation == allocation && place->offset >= 0 &&
        static_cast<uint64_t>(place->offset) <= report.allocations[allocation].bytes) {
      return name_of(argument, i);
    }
  }
  return {};
}

std::string buffer_text(const FaultReport& report, size_t index) {
  const Allocation& allocation = report.allocations[index];
  const std::string argument = argument_text(report, index);
  const std::string where = first_line(allocation.made);
  return fmt::format("the buffer of {} at {:#x}{}{}", count_of_bytes(allocation.bytes),
                     allocation.address, argument.empty() ? "" : " that is " + argument,
                     where.empty() ? "" : ", allocated in " + where);
}

bool is_page_only(const FaultReport& report) {
  return !report.address_is_exact && report.address % kPage == 0;
}

void out_of_bounds(FaultReport& report, const Place& place) {
  const Allocation& allocation = report.allocations[place.allocation];
  const int64_t behind = place.offset - static_cast<int64_t>(allocation.bytes);
  const std::string buffer = buffer_text(report, place.allocation);
  if (place.offset < 0) {
    report.cause = fmt::format("out of bounds: {} touches memory {} before {}", kernel_text(report),
                               count_of_bytes(static_cast<uint64_t>(-place.offset)), buffer);
  } else if (is_page_only(report)) {
    report.cause =
        fmt::format("out of bounds: {} touches the page that begins {} past the end of {}",
                    kernel_text(report), count_of_bytes(static_cast<uint64_t>(behind)), buffer);
  } else {
    report.cause =
        fmt::format("out of bounds: {} touches memory {} past the end of {}", kernel_text(report),
                    count_of_bytes(static_cast<uint64_t>(behind)), buffer);
  }
  report.evidence = fmt::format("address {:#x} lies in no allocation, and this one is the nearest",
                                report.address);
}

void after_free(FaultReport& report, const Place& place) {
  const Allocation& allocation = report.allocations[place.allocation];
  const std::string where = first_line(allocation.freed);
  report.cause = fmt::format("use after free: {} touches {}", kernel_text(report),
                             buffer_text(report, place.allocation));
  report.evidence = fmt::format(
      "address {:#x} is {} from its start, and it was freed {} before the fault{}", report.address,
      count_of_bytes(static_cast<uint64_t>(place.offset)),
      format_duration(report.time_ns - allocation.freed_ns), where.empty() ? "" : " in " + where);
}

void null_pointer(FaultReport& report) {
  const Dispatch* dispatch = culprit(report);
  std::string which;
  for (size_t i = 0; dispatch != nullptr && i < dispatch->arguments.size(); ++i) {
    const Argument& argument = dispatch->arguments[i];
    if (!argument.is_pointer || argument.word != 0 || argument.value.empty()) continue;
    which = name_of(argument, i);
    break;
  }
  report.cause =
      fmt::format("null pointer: {} touches address {:#x}{}", kernel_text(report), report.address,
                  which.empty() ? "" : ", and its " + which + " is null");
  report.evidence = fmt::format("nothing is mapped below {}", format_size(kNearNull));
}

void inside(FaultReport& report, const Place& place) {
  const Allocation& allocation = report.allocations[place.allocation];
  const std::string buffer = buffer_text(report, place.allocation);
  if ((report.reasons & 2) != 0) {
    report.cause = fmt::format("{} writes to {}, which is read-only", kernel_text(report), buffer);
  } else if (allocation.gpu >= 0 && allocation.gpu != report.gpu) {
    report.cause = fmt::format("{} on GPU {} touches {}, which is on GPU {} without peer access",
                               kernel_text(report), report.gpu, buffer, allocation.gpu);
  } else {
    report.cause = fmt::format("{} may not touch {} as it does: {}", kernel_text(report), buffer,
                               report.reason);
  }
  report.evidence = fmt::format("address {:#x} lies within it, {} from its start", report.address,
                                count_of_bytes(static_cast<uint64_t>(place.offset)));
}

// A pointer argument of the kernel that is in no allocation, "argument 1"; "" if there is none.
std::string stray_argument(const FaultReport& report) {
  const Dispatch* dispatch = culprit(report);
  for (size_t i = 0; dispatch != nullptr && i < dispatch->arguments.size(); ++i) {
    const Argument& argument = dispatch->arguments[i];
    if (!argument.is_pointer || argument.word == 0) continue;
    const auto& place = argument.place;
    const bool within =
        place && place->offset >= 0 &&
        static_cast<uint64_t>(place->offset) < report.allocations[place->allocation].bytes;
    if (!within) return name_of(argument, i);
  }
  return {};
}

void unknown_address(FaultReport& report) {
  const std::string pointer = stray_argument(report);
  if (report.host_mapped && !pointer.empty()) {
    report.cause = fmt::format(
        "host pointer without registration: {} touches {:#x}, which is memory "
        "of the program that is not registered with a GPU, as is its {}",
        kernel_text(report), report.address, pointer);
    report.evidence =
        "the program has memory at this address, and no allocation for a GPU contains it";
    report.advice = "allocate it with hipMalloc or hipHostMalloc, or register it (hipHostRegister)";
    return;
  }
  report.cause = fmt::format("{} uses an address outside all allocations: {:#x}",
                             kernel_text(report), report.address);
  report.evidence =
      report.host_mapped
          ? "it is memory of the program itself, which no argument points to: an index far out of "
            "bounds, or a pointer that the kernel read"
      : report.nearest
          ? "the nearest allocation is far, and no argument points to it: an index far out of "
            "bounds, or a pointer that was never set"
          : "no allocation is near; such a pointer was never set, or was overwritten";
}

// A module's variables are at the end of its code object.
bool beyond_variables(FaultReport& report) {
  const CodeObject* nearest = nullptr;
  for (const CodeObject& object : report.code_objects) {
    const uint64_t end = object.base + object.loaded_bytes;
    if (report.address < end || report.address - end >= static_cast<uint64_t>(kFarBehind)) continue;
    if (nearest == nullptr || object.base > nearest->base) nearest = &object;
  }
  if (nearest == nullptr) return false;
  const uint64_t end = nearest->base + nearest->loaded_bytes;
  report.cause = fmt::format(
      "out of bounds: {} touches memory {} past the end of the variables (__device__, __constant__) "
      "of its module",
      kernel_text(report), count_of_bytes(report.address - end));
  report.evidence = fmt::format(
      "address {:#x} lies in no allocation, no argument points near it, and code object {} ends at "
      "{:#x}",
      report.address, nearest->uri, end);
  return true;
}

// Whether --check found an access through a host pointer that no GPU can use.
bool is_of_host(const FaultReport& report) {
  constexpr int64_t kBetween = int64_t{64} << 10;  // two buffers, at least
  if (report.finding->kind != "out_of_bounds" || report.finding->is_local || !report.host_mapped)
    return false;
  if (stray_argument(report).empty()) return false;
  if (!report.nearest) return true;
  const auto bytes = static_cast<int64_t>(report.allocations[report.nearest->allocation].bytes);
  return report.nearest->offset < -kBetween || report.nearest->offset - bytes > kBetween;
}

void memory_fault(FaultReport& report) {
  if ((report.reasons & kEcc) != 0) {
    report.cause = "the GPU's memory has an error that it could not correct";
    report.evidence = "the driver says: " + report.reason;
    report.advice = "the program is not to blame; rocm-smi --showrasinfo counts such errors";
    return;
  }
  if (report.address < kNearNull) return null_pointer(report);
  if (!report.nearest) {
    return !report.host_mapped && beyond_variables(report) ? void() : unknown_address(report);
  }
  const Allocation& allocation = report.allocations[report.nearest->allocation];
  const int64_t offset = report.nearest->offset;
  const auto bytes = static_cast<int64_t>(allocation.bytes);
  const int64_t room = (bytes + static_cast<int64_t>(kPage) - 1) / static_cast<int64_t>(kPage) *
                       static_cast<int64_t>(kPage);
  if (allocation.freed_ns != 0 && offset >= 0 && offset < room) {
    return after_free(report, *report.nearest);
  }
  if (offset >= 0 && offset < bytes) return inside(report, *report.nearest);
  if (report.host_mapped || offset < -kFarBehind || offset - bytes > kFarBehind) {
    return unknown_address(report);
  }
  const int64_t distance = offset < 0 ? -offset : offset - bytes;
  if (distance > kFarFromOthers && argument_text(report, report.nearest->allocation).empty()) {
    return beyond_variables(report) ? void() : unknown_address(report);
  }
  out_of_bounds(report, *report.nearest);
}

// A block of the caching allocator holds many tensors, so its bounds are not theirs.
void advise_on_cached_block(FaultReport& report) {
  if (!report.nearest || !report.advice.empty()) return;
  for (const StackFrame& frame : report.allocations[report.nearest->allocation].made) {
    if (frame.function.find("CachingAllocator") == std::string::npos) continue;
    report.advice =
        "the buffer is a block of PyTorch's caching allocator, which holds many tensors: with "
        "sonde debug --no-cache each tensor is a buffer of its own";
    return;
  }
}

std::string evidence_of_waves(const FaultReport& report) {
  const WaveGroup* group = stopped_waves(report);
  if (group == nullptr) return "the runtime's queue error: " + report.reason;
  return fmt::format("{} {} at {:#x} ({})", group->waves.size(),
                     group->waves.size() == 1 ? "wave stopped" : "waves stopped", group->pc,
                     group->instruction);
}

void aperture_violation(FaultReport& report) {
  using Kind = Violation::Kind;
  if (!report.violation) {
    report.cause = fmt::format(
        "{} touches memory outside of its LDS or private memory: a misaligned access, an index "
        "beyond a __shared__ or local array, or a stack that overflows",
        kernel_text(report));
    return;
  }
  const char* what = "index out of bounds of __shared__ memory: ";
  if (report.violation->kind == Kind::kMisaligned) what = "misaligned atomic operation: ";
  if (report.violation->kind == Kind::kOutsidePrivate) what = "scratch overflow: ";
  report.cause =
      fmt::format("{}{}, {}", what, kernel_text(report), violation_text(*report.violation));
  if (report.violation->kind != Kind::kOutsidePrivate) return;
  report.advice =
      "an index beyond a local array, or a recursion: hipDeviceSetLimit(hipLimitStackSize) gives "
      "kernels of unknown stack size a larger stack";
}

void trap(FaultReport& report) {
  if (!report.assertion.empty()) {
    report.cause =
        fmt::format("{} stopped at an assert(): {}", kernel_text(report), report.assertion);
    return;
  }
  report.cause = fmt::format("{} ended itself by a trap: assert(), abort() or __builtin_trap()",
                             kernel_text(report));
  report.advice = "the text of a failed assert() is what the program printed last";
}

void queue_error(FaultReport& report) {
  report.evidence = evidence_of_waves(report);
  switch (report.status) {
    case kApertureViolation:
      aperture_violation(report);
      break;
    case kIllegalInstruction:
      if (jump_cause(report)) break;
      report.cause = fmt::format(
          "{} has an instruction that this GPU does not know: code for another "
          "architecture, or code that was overwritten",
          kernel_text(report));
      break;
    case kException:
      trap(report);
      break;
    case kInvalidPacket:
      report.cause =
          "the queue holds an invalid packet: it was overwritten, or its header was written "
          "before the rest of it";
      break;
    case kInvalidIsa:
      report.cause = fmt::format("{} is of another architecture than the GPU", kernel_text(report));
      break;
    case kOutOfResources:
      report.cause = fmt::format("the GPU has no room for what {} needs, such as scratch memory",
                                 kernel_text(report));
      break;
    default:
      report.cause = fmt::format("{} stopped its queue: {}", kernel_text(report), report.reason);
  }
}

// A HIP call failed because it was given freed memory, or a size beyond a buffer's end. False:
// there was another reason.
bool memory_of_call(FaultReport& report) {
  for (const CallSide& side : report.call_sides) {
    const Allocation& allocation = report.allocations[side.place->allocation];
    const std::string buffer = buffer_text(report, side.place->allocation);
    const auto offset = static_cast<uint64_t>(side.place->offset);
    const std::string what = fmt::format(
        "{} {} {}{:#x}", report.call, side.verb,
        report.call_bytes != 0 ? count_of_bytes(report.call_bytes) + " at " : "", side.address);
    if (allocation.freed_ns != 0) {
      const std::string where = first_line(allocation.freed);
      report.cause = fmt::format(
          "{}: {}, in {}", side.verb == "frees" ? "double free" : "use after free", what, buffer);
      report.evidence = fmt::format("it was freed {} before{}",
                                    format_duration(report.time_ns - allocation.freed_ns),
                                    where.empty() ? "" : " in " + where);
      return true;
    }
    const uint64_t end = offset + report.call_bytes;
    if (end <= allocation.bytes) continue;
    report.cause = fmt::format("out of bounds by {}: {}, past the end of {}",
                               count_of_bytes(end - allocation.bytes), what, buffer);
    report.evidence = fmt::format("it begins {} from the buffer's start", count_of_bytes(offset));
    return true;
  }
  return false;
}

void call_error(FaultReport& report) {
  // hipErrorInvalidDeviceFunction, hipErrorInvalidImage, hipErrorNoBinaryForGpu,
  // hipErrorSharedObjectInitFailed
  constexpr int kOfCode[] = {98, 200, 209, 303};
  const std::string where = first_line(report.call_stack);
  const std::string call = fmt::format("{} returned error {}{}", report.call, report.call_code,
                                       where.empty() ? "" : ", called in " + where);
  report.evidence = "it is the last call that failed";
  if (report.call_was_repeated) report.evidence += ", a later one returned its error again";
  if (report.ended != "exit 0") report.evidence += ", and the program ended soon after";
  report.call_misuses_memory = memory_of_call(report);
  if (report.call_misuses_memory) {
    report.evidence += "; " + call;
    return;
  }
  report.cause = call;
  const bool is_of_code = std::any_of(std::begin(kOfCode), std::end(kOfCode),
                                      [&](int code) { return code == report.call_code; });
  if (!is_of_code) return;
  report.call_lacks_code = report.call.find("Launch") != std::string::npos;
  report.cause = report.wrong_architecture.empty()
                     ? "the code is for another architecture than the GPU's, or damaged: " + call
                     : "wrong architecture: " + report.wrong_architecture;
  report.evidence = call;
  report.advice = "build it for the GPU: hipcc --offload-arch";
}

}  // namespace

std::string kernel_text(const FaultReport& report) {
  const Dispatch* dispatch = culprit(report);
  return dispatch == nullptr || dispatch->name.empty() ? "a kernel" : "kernel " + dispatch->name;
}

const WaveGroup* stopped_waves(const FaultReport& report) {
  for (const WaveGroup& group : report.waves) {
    if (group.why != "demand") return &group;
  }
  return nullptr;
}

std::string reasons_text(uint32_t reasons) {
  std::string text;
  for (const wire::FaultReason& reason : wire::kFaultReasons) {
    if ((reasons & reason.bit) != 0) text += (text.empty() ? "" : ", ") + std::string(reason.text);
  }
  return text.empty() ? "no reason given" : text;
}

std::string gpu_page_text(uint32_t reasons, int gpu) {
  constexpr uint32_t kNotPresent = 0x1, kReadOnly = 0x2, kNoExecute = 0x4, kHostOnly = 0x8;
  if ((reasons & kNotPresent) != 0) return fmt::format("not mapped for GPU {}", gpu);
  if ((reasons & kReadOnly) != 0) return fmt::format("mapped for GPU {}, read-only", gpu);
  if ((reasons & kNoExecute) != 0) return fmt::format("mapped for GPU {}, not executable", gpu);
  if ((reasons & kHostOnly) != 0) return fmt::format("mapped for the host only, not GPU {}", gpu);
  return {};
}

void find_cause(FaultReport& report) {
  if (report.finding) {
    const auto& near = report.nearest;
    if (is_of_host(report)) return unknown_address(report);
    finding_cause(report, kernel_text(report), near ? buffer_text(report, near->allocation) : "");
    advise_on_cached_block(report);
  } else if (report.kind == "memory fault") {
    memory_fault(report);
    advise_on_cached_block(report);
  } else if (report.kind == "queue error") {
    queue_error(report);
  } else if (report.kind == "HIP error") {
    call_error(report);
  } else if (report.kind == "hang" || report.kind == "state") {
    state_cause(report);
  } else if (!report.wrong_architecture.empty()) {
    report.cause = "wrong architecture: " + report.wrong_architecture;
    report.evidence =
        fmt::format("the program ended by {} before it launched anything", report.ended);
    report.advice = "build it for the GPU: hipcc --offload-arch";
  } else {
    report.cause = fmt::format("the program itself ended by {}", report.ended);
    report.evidence = fmt::format("{} had not finished then, and no GPU reported a fault",
                                  report.in_flight.size() == 1
                                      ? "1 dispatch"
                                      : fmt::format("{} dispatches", report.in_flight.size()));
  }
}

}  // namespace sonde::fault
