// Executor: runs the work groups of kernels on all host cores. Used by the device for each kernel
// dispatch. A program built with softgpu-hipcc carries its kernels as host code and registers them
// by name when it is loaded (kernel_abi.h); other code comes as a GroupCode (isa/ has one that runs
// machine code).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace softgpu {

struct Dispatch {
  uint32_t grid[3] = {1, 1, 1};      // work items
  uint32_t group[3] = {1, 1, 1};     // work items of a work group
  uint32_t dynamic_group_bytes = 0;  // LDS beyond what the kernel declares itself
  const void* packet = nullptr;      // hsa_kernel_dispatch_packet_t
  const void* kernarg = nullptr;
  uint32_t wave_size = 64;
};

struct Outcome {
  enum Kind {
    kDone,
    kNoCode,
    kMemoryFault,
    kTrap,
    kIllegalInstruction,
    kApertureViolation,
    kStopped,  // its queue was destroyed
  } kind = kDone;
  uint64_t address = 0;  // of a memory fault
  std::string detail;  // for a reader: what stopped it, and where; "" where there is no more to say
  // The trap handler of ROCr has run: the queue's error signal has what it makes of it.
  bool is_told = false;
  uint32_t exceptions = 0;  // of its queue, as that handler tells newer drivers: one bit each
};

// The work groups of a dispatch by their number.
struct Grid {
  uint32_t items[3] = {}, size[3] = {}, groups[3] = {};
  uint64_t total = 0;

  explicit Grid(const Dispatch& dispatch);
  Grid() = default;
  // The id of a group and its own size, which is less than the others' at the edge.
  void place(uint64_t index, uint32_t (&id)[3], uint32_t (&own)[3]) const;
};

// What can run the work groups of one dispatch, from several threads at once.
class GroupCode {
 public:
  virtual ~GroupCode() = default;
  // The groups [first, end), until one does not end well. Some may be left waiting for others.
  virtual Outcome run(const Grid& grid, uint64_t first, uint64_t end) = 0;
  // Once all have begun: those that wait, until none is left to be taken, or somebody has stopped.
  virtual Outcome run_waiting(const std::atomic<bool>& stopped) = 0;
};

class Executor {
 public:
  explicit Executor(int threads);  // 0 = one for each core; they start at the first kernel
  ~Executor();

  // Whether host code is registered under this name (mangled, without ".kd").
  bool knows(std::string_view kernel) const;
  // Whether its items may wait for groups that start later. As host code they wait for ever.
  bool watches_memory(std::string_view kernel) const;
  // Runs all work groups and returns when the last has ended. May be called from several threads.
  Outcome run(std::string_view kernel, const Dispatch& dispatch);
  Outcome run(GroupCode& code, const Dispatch& dispatch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softgpu
