// The state that the parts of the HSA backend share: the runtime's own functions, its devices, the
// clock of its timestamps. Set up once when the runtime hands over its tables.
#pragma once

#include "backends/hsa/tables.h"
#include "backends/rocm/connection.h"

namespace sonde::hsa {

using rocm::agent;
using rocm::Launch;
using rocm::recording;
using rocm::t_launch;
using rocm::word;

extern Functions g_next;  // the runtime's functions, past our hooks
inline const Functions& next() { return g_next; }

constexpr const char* kSource = "hsa";

enum CopyQueue { kToDevice, kFromDevice, kBetween, kCopyQueues };

struct Device {
  AgentHandle handle;
  bool is_gpu;
  int16_t gpu_id;      // -1 for a CPU
  uint32_t id;         // of define_device()
  uint32_t gfx_major;  // 9 for gfx90a
  bool big_registers;  // gfx90a and gfx94x: VGPRs in units of 8, accumulation registers behind them
  uint32_t copy_queue[kCopyQueues];
};

// devices.cpp. The device of a handle, or nullptr.
void find_devices();
const Device* device_of(AgentHandle handle);

// clock.cpp
extern uint32_t g_clock;
void find_clock();
void read_clock_again();  // now and then, where the clock is one of the runtime's own

// kernels.cpp
struct Kernel {
  uint64_t object;
  uint32_t name;  // intern()ed, without ".kd"
};
const Kernel* find_kernel(uint64_t object);

// calls.cpp
void define_calls();

// Puts the hooks of each part in place.
void hook_queues(Functions* hooks);
void hook_waits(Functions* hooks);
void hook_copies(Functions* hooks);
void hook_kernels(Functions* hooks);
void hook_memory(Functions* hooks);
void hook_handlers(Functions* hooks);

// runtime.cpp: called with the tables, and when the runtime is about to end. Whether the ops are
// watched; without `ops` only what HIP's calls need is done.
bool load(ApiTable* table, bool ops);
void unload();        // the runtime ends, and may start again
void collect_last();  // the program ends

// handlers.cpp: whether our functions are in the tables already.
bool is_hooked(const Functions& functions);

}  // namespace sonde::hsa
