// The state that the parts of the HSA backend share: the runtime's own functions, its devices, the
// clock of its timestamps. Set up once when the runtime hands over its tables.
#pragma once

#include <atomic>

#include "backends/rocm/connection.h"
#include "backends/rocm/hsa/tables.h"

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
  char architecture[16];  // "gfx90a"
};

// devices.cpp. The device of a handle, or nullptr.
void find_devices();
const Device* device_of(AgentHandle handle);
const Device* host_device();  // the first CPU, or nullptr
int gpu_count();
const char* architecture_of(int gpu);     // "" where it is not known
int gpu_of_pool(Pool pool);               // -1: of the host
const Device* device_of_pool(Pool pool);  // nullptr: of the host

// clock.cpp
extern uint32_t g_clock;
void find_clock();
void read_clock_again();  // now and then, where the clock is one of the runtime's own

// kernels.cpp. The name of a kernel, without ".kd", intern()ed; 0: not known.
uint32_t kernel_name(uint64_t object);
const char* kernel_text(uint64_t object);         // likewise, as text; nullptr: not known
uint32_t kernel_argument_bytes(uint64_t object);  // 0: not known

// calls.cpp
void define_calls();

// Puts the hooks of each part in place.
void hook_queues(Functions* hooks);
void hook_waits(Functions* hooks);
void hook_copies(Functions* hooks);
void hook_kernels(Functions* hooks);
void hook_memory(Functions* hooks);
void hook_handlers(Functions* hooks);
void hook_doorbells(Functions* hooks);

// runtime.cpp: called with the tables, which may come in two ways. Whether the ops are watched;
// without `ops` only what HIP's calls need is done.
bool load(ApiTable* table, bool ops);
void unload();        // the runtime ends, and may start again
void collect_last();  // the program ends

// Whether the runtime runs, so that its signals may be looked at: after its end they are memory
// that is gone.
bool is_open();

// Of a process that is attached to while it runs (rocm/late), again and again. Without `ops` only
// what HIP's calls need is done. nullptr: calls are recorded, and the ops of what is made from now
// on; else why not.
const char* begin_attached(ApiTable* table, bool ops);
void end_attached();  // what has finished is recorded; returns when our threads are gone, or soon
// Its functions stay in the tables, and queues that it had made stay ours, but nothing is recorded.
extern std::atomic<bool> g_dormant;
inline bool dormant() { return g_dormant.load(std::memory_order_relaxed); }
// Whether ops are wanted now.
inline bool watching() { return recording() && !dormant(); }
// kernels.cpp: those of executables that are there already.
void learn_kernels();

// handlers.cpp: whether our functions are in the tables already.
bool is_hooked(const Functions& functions);

// copies.cpp: the runtime has ended, and with it the copies that it was to tell the end of.
uint64_t lose_copies();

}  // namespace sonde::hsa
