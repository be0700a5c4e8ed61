// Group: runs a work group of a dispatch from machine code on the thread that calls. Waves start as
// the packet processor starts them, and take turns until all have ended, or until they seem to wait
// for another group: then any thread may go on with it later.
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

// What a dispatch is, as its waves see it.
struct Launch {
  Program* program = nullptr;
  sonde::gpu::KernelDescriptor descriptor{};
  uint64_t entry = 0;
  uint64_t packet = 0, kernarg = 0, queue = 0;  // addresses
  uint32_t private_bytes = 0;                   // of a lane
  uint32_t lds_bytes = 0;
  bool packs_item_ids = true;  // into v0; else v0, v1, v2
  void (*interrupt)(void* context, uint32_t event) = nullptr;
  uint64_t (*clock)(void* context) = nullptr;
  TrapHandler trap_handler;
  // Traps that come from the driver, which run the handler that is set when they come. nullptr:
  // there are none.
  HostTraps* host_traps = nullptr;
  TrapHandler (*handler_now)(void* context) = nullptr;
  uint32_t doorbell = 0;     // of the queue; the handler asks for it
  uint64_t ring_packet = 0;  // the packet's number in the queue's ring
  void* context = nullptr;
  GlobalSync* sync = nullptr;
  const Watch* watch = nullptr;
  const std::atomic<bool>* stopped = nullptr;  // true: the waves end where they are
  // Where a debugger may hold the waves, and whether it wants new ones to halt before they begin.
  WaveHold* hold = nullptr;
  bool (*begins_halted)(void* context) = nullptr;
  // Where the waves read from that is no memory of a GPU: the packet, and arguments that were
  // copied.
  std::vector<OwnMemory> own_memory() const {
    return {{packet, 64}, {kernarg, descriptor.kernarg_bytes}};
  }
};

class GroupRunner : sonde::Pinned {
 public:
  GroupRunner() = default;
  ~GroupRunner();

  // The group `id` of these sizes, which is this one of its dispatch: makes its waves ready. False
  // without memory for them.
  bool begin(const Launch& launch, const uint32_t (&id)[3], const uint32_t (&size)[3],
             uint64_t number);
  // Runs them until the group has ended, or waits. The outcome's detail names what a wave stopped
  // at.
  Outcome resume();
  bool is_waiting() const { return is_waiting_; }
  // One that waits is not gone on with: no debugger sees it any more.
  void leave();
  // Instructions of waves so far.
  uint64_t executed() const { return executed_; }
  // The wave that ran last: after a fault the one that faulted.
  const Wave* last() const { return current_; }

 private:
  bool prepare(const Launch& launch, uint32_t waves);
  void start(Wave& wave, const Launch& launch, const uint32_t (&size)[3]);
  void run_waves();
  // What a turn of each wave has come to: a wave that sleeps makes no progress, and where is_halted
  // a debugger has halted all that could go on.
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
  void end_watch(const Outcome& outcome);
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
  StoppedGroup parked_;            // while it waits
  WaveHold* parked_in_ = nullptr;  // not null: where a debugger sees that
  Wave* current_ = nullptr;
  void* lds_ = nullptr;
  size_t lds_mapped_ = 0;
  void* private_ = nullptr;
  size_t private_mapped_ = 0;
  uint64_t executed_ = 0;
  // Of host traps: the instructions to the next place for one, the interval of the last one.
  uint32_t random_ = 0x9e3779b9, until_host_trap_ = HostTraps::distance(random_);
  int64_t last_host_trap_ = 0;
  bool is_in_host_trap_ = false;
  Stacks stack_;
  void* fiber_ = nullptr;
  FaultSlot fault_;
};

}  // namespace softgpu::isa
