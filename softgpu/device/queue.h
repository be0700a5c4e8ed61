// Queue: the common part of AQL and SDMA queues: who may run it, its position in device time, and
// failures. A queue is run by its owner, one thread at a time.
//
// Device time of a queue: a packet that was already there when the previous one started begins
// where that one ended, whatever the host did meanwhile; any other begins now. No completion is
// signalled before the host's clock has passed the packet's end.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/pinned.h"
#include "compute/executor.h"
#include "device/device.h"
#include "device/faults.h"
#include "device/load.h"
#include "device/memory.h"
#include "device/notices.h"
#include "device/oracle.h"
#include "device/perf_registers.h"
#include "device/signal.h"
#include "isa/kernel.h"

namespace softgpu {

// A GPU, shared by its queues.
struct Gpu {
  explicit Gpu(const GpuConfig& gpu_config) : config(gpu_config), counters(gpu_config) {}
  const GpuConfig& config;
  LoadMeter load;
  PerfRegisters counters;
  std::atomic<uint64_t> dispatches{0};  // of machine code
  std::atomic<bool> lost{false};
};

// What all queues use; outlives them.
struct Services {
  Host& host;
  Executor& executor;
  isa::Engine& engine;
  const Config& config;
  Oracle& oracle;
  FaultScript& faults;
  Notices& notices;
  isa::WaveLog* waves = nullptr;
  isa::AppendFile* instructions = nullptr;
  isa::Check* check = nullptr;
};

// The state of a queue after step().
struct Step {
  enum Kind {
    kIdle,      // nothing to do until its doorbell rings
    kProgress,  // there may be more to do at once
    kWaiting,   // nothing to do before until_ns
    kBlocked,   // until a value in memory changes, which is not notified
    kLong,      // run_long() would take long: not for the thread that polls all queues
  } kind = kIdle;
  int64_t until_ns = 0;
};

class Queue : sonde::Pinned {
 public:
  Queue(const QueueSpec& spec, Services& services, Gpu& gpu);
  virtual ~Queue();

  bool try_own() { return !owned_.exchange(true); }
  void release() { owned_.store(false); }

  // No packet begins after this, and waves of machine code stop where they are.
  void stop() {
    stopped_ = true;
    waves_.end_all();
  }
  // Where a debugger holds its waves.
  isa::WaveHold& waves() { return waves_; }

  // For the owner:
  Step step();
  virtual void run_long() = 0;

  uint32_t id() const { return spec_.id; }

 protected:
  // Longer work gets a thread of its own: it takes longer than waking that thread.
  static constexpr uint64_t kLongBytes = 256 * 1024;

  virtual Step advance() = 0;

  // Begins a packet and returns its start time. follows: it was there when the last one began, so
  // it starts where that ended, but not before it was seen: a device that got no core for a while
  // would otherwise start work before the program submitted it. Packets below `end` are there now.
  int64_t begin(bool follows, uint64_t end);
  // The start time of work that depends on others.
  int64_t begin_after_wait();
  // The end of a packet that begins at that time and takes so long in the model.
  int64_t end_of(int64_t start_ns, double model_ns) const;
  double copy_ns(uint64_t bytes, bool first) const;
  uint64_t ticks(int64_t ns) const { return device_ticks_at(gpu_.config.clock, ns); }
  void begin_record(std::string_view kind);
  // For the current packet, which keeps the GPU busy from record_.start_ns to record_.end_ns.
  void begin_work(bool copy);
  void end_work();
  // The queue is dead; the log has the reason.
  void faulted(std::string_view what);
  void page_fault(uint64_t address, MemoryFault reason);
  void set_read_pointer(uint64_t value) {
    __atomic_store_n(reinterpret_cast<uint64_t*>(spec_.read_pointer), value, __ATOMIC_RELEASE);
  }

  const std::atomic<bool>& stopped() const { return stopped_; }

  const QueueSpec spec_;
  Services& services_;
  Gpu& gpu_;
  const GpuMemory memory_;
  PacketRecord record_;  // of the current packet
  bool dead_ = false;    // after a fault: nothing more is executed
  int64_t time_ns_ = 0;  // end of the last packet
  uint64_t follow_ = 0;  // packets below this were there when the last one began

 private:
  int64_t follow_seen_ns_ = 0;
  bool working_ = false, copying_ = false;
  std::atomic<bool> owned_{false}, stopped_{false};
  isa::WaveHold waves_;
};

}  // namespace softgpu
