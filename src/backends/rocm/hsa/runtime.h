// What the HSA files share: the runtime's own functions, its devices, the clock of its timestamps.
// Set up once when the runtime passes its tables.
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

extern Functions g_next;  // the runtime's functions, without our hooks
inline const Functions& next() { return g_next; }

constexpr const char* kSource = "hsa";

enum CopyQueue { kToDevice, kFromDevice, kBetween, kCopyQueues };

struct Device {
  AgentHandle handle;
  bool is_gpu;
  int16_t gpu_id;      // -1 for a CPU
  uint32_t id;         // of define_device()
  uint32_t gfx_major;  // 9 for gfx90a
  bool big_registers;  // gfx90a and gfx94x: VGPRs in units of 8, followed by accumulation registers
  uint32_t copy_queue[kCopyQueues];
  char architecture[16];  // "gfx90a"
};

// devices.cpp. The device of a handle, or nullptr.
void find_devices();
const Device* device_of(AgentHandle handle);
const Device* host_device();  // the first CPU, or nullptr
int gpu_count();
const char* architecture_of(int gpu);     // "" if unknown
int gpu_of_pool(Pool pool);               // -1: host
const Device* device_of_pool(Pool pool);  // nullptr: host

// clock.cpp
extern uint32_t g_clock;
void find_clock();
void read_clock_again();  // periodically, if the clock is the runtime's own

// kernels.cpp. The interned name of a kernel, without ".kd"; 0: unknown.
uint32_t kernel_name(uint64_t object);
const char* kernel_text(uint64_t object);         // the same as text; nullptr: unknown
uint32_t kernel_argument_bytes(uint64_t object);  // 0: unknown

// calls.cpp
void define_calls();

// Install the hooks of each part.
void hook_queues(Functions* hooks);
void hook_waits(Functions* hooks);
void hook_copies(Functions* hooks);
void hook_kernels(Functions* hooks);
void hook_memory(Functions* hooks);
void hook_handlers(Functions* hooks);
void hook_doorbells(Functions* hooks);

// runtime.cpp: called with the tables, which may arrive in two ways. Returns whether ops are
// recorded; without `ops`, does only what HIP's calls need.
bool load(ApiTable* table, bool ops);
void unload();        // the runtime ends, and may start again
void collect_last();  // the program ends

// Whether the runtime is running, so that its signals may be read: after its end their memory is
// gone.
bool is_open();

// For a process that is attached to while it runs (rocm/late), called repeatedly. Without `ops`,
// does only what HIP's calls need. nullptr: calls are recorded, and the ops of queues made from now
// on; else the reason why not.
const char* begin_attached(ApiTable* table, bool ops);
// Records what has finished; returns when our threads have ended, but does not wait long.
void end_attached();
// Our functions stay in the tables, and queues made through them stay intercepted, but nothing is
// recorded.
extern std::atomic<bool> g_dormant;
inline bool dormant() { return g_dormant.load(std::memory_order_relaxed); }
// Whether ops should be recorded now.
inline bool watching() { return recording() && !dormant(); }
// kernels.cpp: registers the kernels of existing executables.
void learn_kernels();

// handlers.cpp: whether our functions are already in the tables.
bool is_hooked(const Functions& functions);

// copies.cpp: the runtime has ended; returns the number of copies whose end it will not report.
uint64_t lose_copies();

}  // namespace sonde::hsa
