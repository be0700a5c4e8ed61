// GroupRunner: runs one work-group at a time, on the calling thread. A kernel whose items do not
// wait for each other is a single call; otherwise each item is a fiber, and the items of a wave run
// one after the other until all of them wait. The thread must have a FaultStack.
#pragma once

#include <cstdint>
#include <vector>

#include "base/pinned.h"
#include "compute/fault.h"
#include "compute/fiber.h"
#include "compute/kernel_abi.h"
#include "compute/output.h"

namespace softgpu {

class GroupRunner : sonde::Pinned {
 public:
  GroupRunner();
  ~GroupRunner();

  // `group` lacks only what the runner itself provides: api, LDS, stack.
  Outcome run(const SoftgpuKernel& kernel, SoftgpuGroup group);

 private:
  enum class State { kReady, kMeets, kBarrier, kYields, kAsksHost, kEnded };

  struct Lane {
    SoftgpuItem item;  // first: the executor is passed this address
    GroupRunner* runner;
    void* stack_pointer;
    State state;
    uint32_t site;
    uint64_t a, b;
    void (*request)(GroupRunner&, const void* requested);  // to be run on the thread's own stack
    const void* requested;
  };

  static const SoftgpuApi& api();
  static Lane& lane_of(SoftgpuItem* item) { return *reinterpret_cast<Lane*>(item); }
  static void enter_item(void* lane);
  static void enter_group(void* lane);
  static void wait(Lane& lane, State state);
  template <class Request>
  static void ask_host(SoftgpuItem* item, const Request& request);

  bool prepare_lds();
  bool prepare_items(const SoftgpuKernel& kernel);
  void resume(Lane& lane);
  void run_items();
  void run_wave(uint32_t wave);
  bool meet(uint32_t first, uint32_t end, SoftgpuMeeting& meeting);
  bool release_barrier();

  const SoftgpuKernel* kernel_ = nullptr;
  SoftgpuGroup group_{};
  FaultSlot fault_;
  Stacks item_stacks_, group_stack_;
  std::vector<Lane> lanes_;
  std::vector<SoftgpuMeeting> meetings_;  // one per wave
  char* lds_ = nullptr;
  size_t lds_mapped_ = 0;
  PrintedTexts printed_;
};

}  // namespace softgpu
