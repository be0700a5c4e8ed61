// Executor: runs the work-groups of kernels on all host cores. Used by the device for each kernel
// dispatch. A program built with softgpu-hipcc contains its kernels as host code and registers them
// by name when it is loaded (kernel_abi.h); other code comes as a GroupCode (isa/ has one that runs
// machine code).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace softgpu {

// hsa_kernel_dispatch_packet_t
struct AqlDispatch {
  uint16_t header, setup;
  uint16_t group[3], reserved0;
  uint32_t grid[3];
  uint32_t private_bytes, group_bytes;
  uint64_t kernel_object, kernarg, reserved2, completion;
};
static_assert(sizeof(AqlDispatch) == 64);

struct Dispatch {
  uint32_t grid[3] = {1, 1, 1};      // in work items
  uint32_t group[3] = {1, 1, 1};     // work items per work-group
  uint32_t dynamic_group_bytes = 0;  // LDS beyond what the kernel itself declares
  const AqlDispatch* packet = nullptr;
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
  uint64_t address = 0;  // for a memory fault
  std::string detail;    // readable: what stopped it, and where; may be ""
  // ROCr's trap handler has run: the queue's error signal has its verdict.
  bool is_told = false;
  // Exceptions of its queue as that handler reports them to newer drivers, one bit each.
  uint32_t exceptions = 0;
};

// The work-groups of a dispatch, by number.
struct Grid {
  uint32_t items[3] = {}, size[3] = {}, groups[3] = {};
  uint64_t total = 0;

  explicit Grid(const Dispatch& dispatch);
  Grid() = default;
  // A group's id and its own size, which is smaller at the edges.
  void place(uint64_t index, uint32_t (&id)[3], uint32_t (&own)[3]) const;
};

// Runs work-groups of one dispatch, from several threads at once.
class GroupCode {
 public:
  virtual ~GroupCode() = default;
  // Runs the groups [first, end), until one fails. Some may be left waiting for others.
  virtual Outcome run(const Grid& grid, uint64_t first, uint64_t end) = 0;
  // Called once all have begun: runs waiting groups, until none are left or `stopped` is set.
  virtual Outcome run_waiting(const std::atomic<bool>& stopped) = 0;
};

class Executor {
 public:
  explicit Executor(int threads);  // 0 = one per core; they start with the first kernel
  ~Executor();

  // Whether host code is registered under this name (mangled, without ".kd").
  bool knows(std::string_view kernel) const;
  // Whether its items may wait for groups that start later. Host code would then wait forever.
  bool watches_memory(std::string_view kernel) const;
  // Runs all work-groups and returns when the last has ended. Thread-safe.
  Outcome run(std::string_view kernel, const Dispatch& dispatch);
  Outcome run(GroupCode& code, const Dispatch& dispatch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softgpu
