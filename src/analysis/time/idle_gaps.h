// The gaps in which a GPU did nothing, each with the reason why. Used by idle.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/time/gpu_time.h"
#include "analysis/time/host_time.h"

namespace sonde::analysis {

// In the order in which they are tried: the first that fits is the reason.
enum class IdleReason : uint8_t {
  kCopy,         // nothing but copies and memsets ran: the GPU is not idle, its kernels are
  kSync,         // for all of this time the launching thread was in a call that waits for a device
  kLaunchBound,  // the launching call began after the last operation had ended
  kLaunchLatency,  // it began before, and the gap is short
  kDependency,     // it began before, and the queue was told to wait for another one
  kUnlinked,       // the launching call is not in the file
  kEdge,           // of a window, and what comes next was launched before, or is not known
  kOther,          // it began before, and the file does not say why its operation did not
};
constexpr size_t kIdleReasons = 8;
const char* idle_reason_name(IdleReason reason);

struct Gap {
  trace::Interval time;
  int64_t gpu = 0;
  IdleReason reason = IdleReason::kOther;
  trace::Row previous = trace::kNone;  // the operation whose end begins the gap
  trace::Row next = trace::kNone;      // the one whose start ends it; kNone for kCopy
  trace::Row launch = trace::kNone;    // the call that launches the next one, if a window ends it
  // What the thread that launched `next` did most of the time: evidence for every reason, and for
  // kLaunchBound the cause. Only what the file has.
  HostDeed host;
};

// By GPU and time. Those of reason kCopy last as long as copies and memsets are exposed; all others
// together are the idle time of sonde breakdown. A time without operations is cut where a call that
// waits ended, and where the next operation was launched if that began latency_ns or more later.
// Needs `links`; `streams` to know calls that wait for their own copies, and the arguments of calls
// that make a stream wait to know which they are about.
std::vector<Gap> idle_gaps(const trace::Trace& trace, const HostTime& host, int64_t latency_ns);

}  // namespace sonde::analysis
