// Device: the queues of all GPUs of one process, and the threads that execute their packets. Made
// by the driver at the first queue; lives until the process ends.
//
// Guarantees: packets of a queue start in order; the oracle's log has one line per executed packet;
// no call blocks on the execution of packets except remove_queue(), which waits until the queue's
// memory is no longer accessed. The device calls its Host from its own threads; the Host must not
// call remove_queue() while it holds a lock that those calls take.
#pragma once

#include <cstdint>
#include <memory>

#include "config/config.h"
#include "device/host.h"

namespace softgpu {

namespace isa {
class WaveHold;
}

enum class QueueKind { kAql, kSdma, kSdmaXgmi };

struct QueueSpec {
  uint32_t id = 0;  // unique in the process
  uint32_t gpu = 0;
  QueueKind kind = QueueKind::kAql;
  uint64_t ring = 0;  // addresses in the process
  uint64_t ring_bytes = 0;
  uint64_t read_pointer = 0, write_pointer = 0;
  uint64_t doorbell = 0;  // an 8-byte slot in the doorbell page that the process writes
};

// The load that the driver shows in sysfs.
struct Load {
  double busy = 0;  // share of the last second, 0..1
  double memory_busy = 0;
  uint64_t dispatches = 0, copies = 0;
};

class Device {
 public:
  Device(const Config& config, Host& host);
  ~Device();

  void add_queue(const QueueSpec& spec);
  void remove_queue(uint32_t id);
  // Where a debugger holds the queue's waves; nullptr if there is no such queue.
  std::shared_ptr<isa::WaveHold> waves_of(uint32_t id) const;
  // The process has mapped this GPU's doorbells here and will store to them. While everything is
  // idle, the device write-protects that range, to be woken by a store instead of polling.
  void doorbells_mapped(uint32_t gpu, uint64_t address, uint64_t bytes);
  Load load(uint32_t gpu) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The current device clock. A pure function of the configuration and CLOCK_MONOTONIC, so that all
// processes see the same clock.
uint64_t device_ticks(const ClockConfig& clock);
uint64_t device_ticks_at(const ClockConfig& clock, int64_t monotonic_ns);

}  // namespace softgpu
