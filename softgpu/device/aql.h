// AqlQueue: the packet processor of a compute queue. Packets run one after the other.
#pragma once

#include <string>
#include <string_view>

#include "device/amd_abi.h"
#include "device/blit.h"
#include "device/machine_code.h"
#include "device/names.h"
#include "device/pm4.h"
#include "device/queue.h"

namespace softgpu {

class AqlQueue : public Queue {
 public:
  AqlQueue(const QueueSpec& spec, Services& services, Gpu& gpu);
  void run_long() override;

 protected:
  Step advance() override;

 private:
  enum class State {
    kFetch,
    kScratch,   // ROCr was asked to change the queue's scratch memory
    kPm4,       // a command buffer waits for a value
    kStreamOp,  // a blit kernel waits for a value in memory
    kLong,      // a kernel is about to run
    kRunning,   // the current packet ends at time_ns_
  };

  bool fetch();
  void begin_record(std::string_view kind);
  Step start_packet();
  Step start_barrier(bool ready, bool waits, std::string_view kind);
  Step start_vendor();
  Step start_pm4();
  bool barrier_and_ready() const;
  bool barrier_or_ready() const;

  Step start_dispatch();
  Step execute_kernel();
  bool compute();
  bool uses_host_code() const;
  bool uses_machine_code() const;
  Outcome run_kernel(const Dispatch& dispatch, const AqlDispatch& packet);
  void tell(const Outcome& outcome);
  bool check_dispatch();
  bool needs_scratch();
  bool strike();
  void describe_kernel();
  bool is_long() const;

  void run_until(int64_t end_ns);
  void finish();
  void consume();
  // Reports the error to ROCr, unless its own trap handler did: then ROCr is only woken.
  void fail(QueueError error, const Outcome& outcome = {});

  AmdQueue& shared() const { return *shared_; }
  uint64_t ring_packets() const { return spec_.ring_bytes / sizeof(AqlPacket); }

  AmdQueue* shared_;
  KernelNames names_;
  MachineCode machine_code_;
  Pm4 pm4_;
  State state_ = State::kFetch;
  uint64_t next_ = 0;       // index of the next or current packet
  uint64_t written_ = 0;    // packets below this are reserved or ready
  bool looked_at_ = false;  // the next packet was checked before and was not ready
  AqlPacket packet_{};
  std::string name_;
  std::optional<Blit> blit_;
};

}  // namespace softgpu
