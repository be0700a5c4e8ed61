// Group: runs a work-group of a dispatch from machine code on the calling thread. Waves start as
// the packet processor starts them, and take turns until all have ended, or until they seem to wait
// for another group: then any thread may continue it later.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/pinned.h"
#include "compute/executor.h"
#include "compute/fault.h"
#include "compute/fiber.h"
#include "gpu/code_object.h"
#include "isa/hold.h"
#include "isa/host_traps.h"
#include "isa/program.h"
#include "isa/trap.h"
#include "isa/watch.h"

namespace softgpu::isa {

// A dispatch, as its waves see it.
struct Launch {
  Program* program = nullptr;
  sonde::gpu::KernelDescriptor descriptor{};
  uint64_t entry = 0;
  uint64_t packet = 0, kernarg = 0, queue = 0;  // addresses
  uint32_t private_bytes = 0;                   // per lane
  uint32_t lds_bytes = 0;
  bool packs_item_ids = true;  // in v0; otherwise in v0, v1, v2
  void (*interrupt)(void* context, uint32_t event) = nullptr;
  uint64_t (*clock)(void* context) = nullptr;
  // A wave has failed, and its trap handler is about to tell ROCr.
  void (*fails)(void* context, const Outcome& outcome) = nullptr;
  TrapHandler trap_handler;
  // Traps sent by the driver, which run the handler that is then installed. nullptr: none.
  HostTraps* host_traps = nullptr;
  TrapHandler (*handler_now)(void* context) = nullptr;
  uint32_t doorbell = 0;     // of the queue; returned to the handler
  uint64_t ring_packet = 0;  // the packet's index in the queue's ring
  void* context = nullptr;
  GlobalSync* sync = nullptr;
  const Watch* watch = nullptr;
  const std::atomic<bool>* stopped = nullptr;  // true: waves stop where they are
  // Where a debugger may hold the waves, and whether it wants new ones to halt at once.
  WaveHold* hold = nullptr;
  bool (*begins_halted)(void* context) = nullptr;
  // What the waves read outside of GPU memory: the packet, and copied arguments.
  std::vector<OwnMemory> own_memory() const {
    return {{packet, 64}, {kernarg, descriptor.kernarg_bytes}};
  }
};

class GroupRunner : sonde::Pinned {
 public:
  GroupRunner() = default;
  ~GroupRunner();

  // Prepares the waves of group `id`, with these sizes, group `number` of its dispatch. False
  // without memory for them.
  bool begin(const Launch& launch, const uint32_t (&id)[3], const uint32_t (&size)[3],
             uint64_t number);
  // Runs the waves until the group has ended, or waits. The outcome's detail names the instruction
  // that a wave stopped at.
  Outcome resume();
  bool is_waiting() const { return is_waiting_; }
  // A waiting group will not be continued: debuggers no longer see it.
  void leave();
  // Instructions executed by its waves so far.
  uint64_t executed() const { return executed_; }
  // The wave that ran last; after a fault, the one that faulted.
  const Wave* last() const { return current_; }

 private:
  bool prepare(const Launch& launch, uint32_t waves);
  void start(Wave& wave, const Launch& launch, const uint32_t (&size)[3]);
  void run_waves();
  // The result of one turn of each wave: a sleeping wave makes no progress; is_halted: a debugger
  // has halted all that could run.
  struct Round {
    bool has_progress = false, is_halted = false;
  };
  bool run_round(Round& round);
  bool take_turn(Wave& wave);
  void run_turn(Wave& wave);
  void take_host_trap(Wave& wave);
  void answer_demand();
  StoppedGroup stopped_group();
  void keep_failed(const Outcome& outcome);
  void tell_failure(const Outcome& outcome);
  void show_failure(const Outcome& outcome);
  bool handle_trap(Wave& wave);
  Outcome stopped_at(const Wave& wave) const;
  static void enter(void* runner);

  GroupState state_;
  GroupWatch watch_;
  const Launch* launch_ = nullptr;
  std::vector<Wave*> waves_;
  std::vector<Stop> stops_;
  std::vector<OwnMemory> own_memory_;
  uint32_t count_ = 0, rounds_left_ = 0;
  bool is_waiting_ = false;
  bool is_shown_ = false;          // the wave that failed, to those who watch
  StoppedGroup parked_;            // while it waits
  WaveHold* parked_in_ = nullptr;  // not null: a debugger sees it there
  Wave* current_ = nullptr;
  void* lds_ = nullptr;
  size_t lds_mapped_ = 0;
  void* private_ = nullptr;
  size_t private_mapped_ = 0;
  uint64_t executed_ = 0;
  // For host traps: the instructions until the next possible one, and the interval of the last.
  uint32_t random_ = 0x9e3779b9, until_host_trap_ = HostTraps::distance(random_);
  int64_t last_host_trap_ = 0;
  bool is_in_host_trap_ = false;
  Stacks stack_;
  void* fiber_ = nullptr;
  FaultSlot fault_;
};

}  // namespace softgpu::isa
