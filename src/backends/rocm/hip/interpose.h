// A call of the program through one of our functions, of any signature: recorded and forwarded.
// Calls that HIP makes to itself meanwhile are only forwarded.
#pragma once

#include "backends/rocm/entered.h"
#include "backends/rocm/hip/arguments.h"
#include "backends/rocm/hip/calls.h"
#include "base/errno_keeper.h"

namespace sonde::hip {

extern constinit thread_local rocm::Entered t_entered;

// Whether a call is to be recorded, which begins in the function of this frame. Finds the agent the
// first time, and notes which function the program calls.
bool entered(const FunctionInfo& function, const void* frame);
// After one that is not; returns its result.
int left(int result, const void* frame);
// hipProfilerStart() and hipProfilerStop(): resume or pause the recording.
void switch_recording(bool on);

template <typename... A>
int recorded(const FunctionInfo& function, int (*next)(A...), A... values) {
  if (!entered(function, rocm::this_frame())) return left(next(values...), rocm::this_frame());
  alignas(16) char image[kImageBytes];
  store_parameters(function, image, values...);
  if (!function.in_full) {
    const uint64_t begin = rocm::agent().ticks();
    const int result = next(values...);
    t_entered.leave();
    record_light_call(function, image, result, begin, rocm::agent().ticks());
    return result;
  }
  OpenCall open;
  begin_call(function, function.defined, &open);
  look_at_parameters(function, image);
  const int result = next(values...);
  t_entered.leave();
  const ErrnoKeeper keep;
  if (function.by_value) {
    uint64_t words[kMaxParameters * kMostWords];
    const size_t count = pack_values(words, values...);
    end_packed_call(function, image, result, open, words, count);
  } else {
    end_call(&function, image, result, open);
  }
  return result;
}

// The same by function number; the function may be one of those two.
template <Function Id, typename... A>
int recorded_as(int (*next)(A...), A... values) {
  if constexpr (Id == k_hipProfilerStart) switch_recording(true);
  const int result = recorded<A...>(g_functions[Id], next, values...);
  if constexpr (Id == k_hipProfilerStop) switch_recording(false);
  return result;
}

}  // namespace sonde::hip
