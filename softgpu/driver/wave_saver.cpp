#include "driver/wave_saver.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "driver/log.h"
#include "driver/save_area_memory.h"
#include "isa/hold.h"

namespace softgpu {
namespace {

constexpr auto kLongestStop = std::chrono::seconds(5);
constexpr int kLookForDebuggerMs = 200;

}  // namespace

void WaveSaver::start(DebugState& debug, Device& device, TellRuntime tell_runtime) {
  auto* saver = new WaveSaver(debug, device, std::move(tell_runtime));
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([saver] { saver->run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WaveSaver::run() {
  pthread_setname_np(pthread_self(), "softgpu-debug");
  debug_->answering = static_cast<int32_t>(gettid());
  for (;;) {
    const uint32_t seen = debug_->requests;
    // A debugger that is gone may have left a half-written save area.
    takes_changes_ = !any_held_ || !debug_.lost_debugger();
    answer_all();
    DebugState::wait_for_change(debug_->requests, seen,
                                any_held_ ? std::optional(kLookForDebuggerMs) : std::nullopt);
  }
}

void WaveSaver::answer_all() {
  const auto wants_to_stop = [](const DebuggedQueue& queue) {
    return queue.exists != 0 && queue.suspended != 0 && queue.waves == WavesAre::kRunning;
  };
  // Notifies all queues before waiting for any.
  for (uint32_t id = 0; id < DebugLayout::kQueues; ++id) {
    if (!wants_to_stop(debug_->queues[id])) continue;
    if (const auto waves = device_.waves_of(id)) waves->hold();
  }
  any_held_ = false;
  for (uint32_t id = 0; id < DebugLayout::kQueues; ++id) {
    DebuggedQueue& queue = debug_->queues[id];
    if (wants_to_stop(queue)) {
      queue.waves = save(id, queue);
      DebugState::tell(debug_->answers);
    } else if (queue.suspended == 0 && queue.waves != WavesAre::kRunning) {
      release(id, queue);
      queue.waves = WavesAre::kRunning;
      DebugState::tell(debug_->answers);
    }
    const uint64_t exceptions = queue.to_runtime.exchange(0);
    if (exceptions != 0) tell_runtime_(id, exceptions);
    any_held_ |= queue.exists != 0 && queue.waves != WavesAre::kRunning;
  }
}

WavesAre WaveSaver::save(uint32_t id, DebuggedQueue& queue) {
  if (queue.save_area == 0) return WavesAre::kSaved;  // an SDMA queue
  const auto waves = device_.waves_of(id);
  const auto saved = waves ? waves->saved(kLongestStop) : std::nullopt;
  if (!saved) {
    log(1, "the waves of queue %u do not stop for a debugger", id);
  } else if (write_save_area(queue, *saved)) {
    return WavesAre::kSaved;
  } else {
    log(1, "the save area of queue %u is too small for its waves", id);
  }
  write_save_area(queue, {});
  return WavesAre::kNotSaved;
}

void WaveSaver::release(uint32_t id, DebuggedQueue& queue) {
  const auto waves = device_.waves_of(id);
  if (!waves) return;
  std::vector<uint8_t> changed;
  if (takes_changes_ && queue.waves == WavesAre::kSaved) changed = read_save_area(queue);
  waves->release(changed);
}

}  // namespace softgpu
