// PcSampling: KFD's program counter sampling on one GPU: its sessions, and the traps sent to waves
// while a session is started. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "driver/kfd_abi.h"
#include "isa/host_traps.h"

namespace softgpu {

class PcSampling {
 public:
  explicit PcSampling(bool is_possible) : is_possible_(is_possible) {}

  // Handles the ioctl: returns 0 or an errno.
  int answer(kfd::PcSample& request);
  isa::HostTraps& traps() { return traps_; }

 private:
  int query(kfd::PcSample& request) const;
  int create(kfd::PcSample& request);
  int change(uint32_t session, kfd::PcSampleOp op);

  const bool is_possible_;
  isa::HostTraps traps_;
  std::mutex mutex_;
  std::map<uint32_t, bool> sessions_;  // values: started
  uint32_t last_session_ = 0;
  kfd::PcSampleInfo current_{};  // of the existing sessions
};

}  // namespace softgpu
