// WaveSaver: a thread of a process that carries out a debugger's requests for its queues: it stops
// their waves, writes them to the queues' save areas, and resumes them as the debugger has modified
// them there.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "device/device.h"
#include "driver/debug_state.h"

namespace softgpu {

class WaveSaver {
 public:
  // Passes on exceptions of a queue from a debugger.
  using TellRuntime = std::function<void(uint32_t queue, uint64_t exceptions)>;
  // Both arguments must live as long as the process. Returns at once.
  static void start(DebugState& debug, Device& device, TellRuntime tell_runtime);

 private:
  WaveSaver(DebugState& debug, Device& device, TellRuntime tell_runtime)
      : debug_(debug), device_(device), tell_runtime_(std::move(tell_runtime)) {}
  [[noreturn]] void run();
  void answer_all();
  WavesAre save(uint32_t id, DebuggedQueue& queue);
  void release(uint32_t id, DebuggedQueue& queue);

  DebugState& debug_;
  Device& device_;
  const TellRuntime tell_runtime_;
  bool any_held_ = false, takes_changes_ = true;
};

}  // namespace softgpu
