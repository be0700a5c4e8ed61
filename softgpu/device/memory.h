// What a GPU may access: addresses checked against the driver's page tables. Used by everything
// that reads or writes on behalf of a packet.
#pragma once

#include <cstdint>
#include <optional>

#include "device/host.h"

namespace softgpu {

// The address of a page fault, if there was one.
using Fault = std::optional<uint64_t>;

class GpuMemory {
 public:
  GpuMemory(Host& host, uint32_t gpu) : host_(host), gpu_(gpu) {}

  Fault check(uint64_t address, uint64_t bytes) const;
  // The address must have been checked.
  uint64_t own_address(uint64_t address) const { return host_.own_address(address); }
  // nullptr if any part of the T is not mapped.
  template <class T>
  T* at(uint64_t address) const {
    return check(address, sizeof(T)) ? nullptr : reinterpret_cast<T*>(own_address(address));
  }

 private:
  Host& host_;
  uint32_t gpu_;
};

}  // namespace softgpu
