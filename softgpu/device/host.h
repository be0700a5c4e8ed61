// Host: what the device asks of the driver that it hangs on. Implemented in driver/; tests of the
// device use one of their own.
//
// Memory that a GPU can reach is mapped in the process at its GPU address, so an address that
// is_mapped() may be used as a pointer. Only memory that the program registered (hipHostRegister)
// has a second address for GPUs, where its pages cannot be mapped as well: own_address() is its
// pointer.
#pragma once

#include <cstdint>

namespace softgpu {

namespace isa {
class Allocations;
class HostTraps;
}  // namespace isa

enum class MemoryFault : uint32_t { kNotPresent = 1, kReadOnly = 2, kNoExecute = 4, kEcc = 8 };

class Host {
 public:
  virtual ~Host() = default;

  // Whether all of [address, address + bytes) is mapped for this GPU (or, as user memory, for the
  // process). False = a page fault.
  virtual bool is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) = 0;
  // The pointer for a mapped address; the address itself, but for registered memory.
  virtual uint64_t own_address(uint64_t address) { return address; }
  // Whether a debugger holds this queue: it begins and completes no packet.
  virtual bool is_suspended(uint32_t /*queue*/) { return false; }
  // Whether a debugger may come and stop waves, and whether one wants new waves to halt at once.
  virtual bool is_debuggable() { return false; }
  virtual bool halts_new_waves() { return false; }
  // Tells the runtime, or its debugger, of exceptions of a queue (bits as KFD has them). False for
  // a runtime that looks for them in the queue's inactive signal.
  virtual bool queue_exception(uint32_t /*queue*/, uint64_t /*exceptions*/) { return false; }
  // Makes a KFD event happen, as an interrupt of the device does. 0 is no event.
  virtual void set_event(uint32_t event) = 0;
  // Where the runtime has its trap handler for this GPU, and the memory of that; zeros without one.
  struct TrapHandler {
    uint64_t code = 0, memory = 0;
  };
  virtual TrapHandler trap_handler(uint32_t /*gpu*/) { return {}; }
  // Traps that the driver sends to waves of this GPU.
  virtual isa::HostTraps* host_traps(uint32_t /*gpu*/) { return nullptr; }
  // What kernels may touch, where that is checked.
  virtual const isa::Allocations* allocations() { return nullptr; }
  // Raises the memory-exception events of the process.
  virtual void memory_fault(uint32_t gpu, uint64_t address, MemoryFault reason) = 0;
  // Raises the hardware-exception events: the GPU was reset or is lost.
  virtual void hardware_fault(uint32_t gpu) = 0;
};

}  // namespace softgpu
