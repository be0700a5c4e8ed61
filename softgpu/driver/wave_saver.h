// WaveSaver: the thread of a process that does what a debugger asks of its queues: it has their
// waves stopped, writes them to the queues' save areas, and has them go on as the debugger has left
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
  // What a debugger passes on of a queue's exceptions.
  using TellRuntime = std::function<void(uint32_t queue, uint64_t exceptions)>;
  // Both live as long as the process. Returns at once.
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
