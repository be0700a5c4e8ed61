// Host: what the device needs from the driver. Implemented in driver/; tests of the device have
// their own.
//
// Memory that a GPU can access is mapped in the process at its GPU address, so an address that
// is_mapped() may be used as a pointer. Only registered memory (hipHostRegister) has a different
// address for GPUs, since its pages cannot be mapped twice: own_address() gives its pointer.
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
  // The pointer for a mapped address: the address itself, except for registered memory.
  virtual uint64_t own_address(uint64_t address) { return address; }
  // Whether a debugger has suspended this queue: it begins and completes no packet.
  virtual bool is_suspended(uint32_t /*queue*/) { return false; }
  // Whether a debugger may attach and stop waves, and whether it wants new waves to halt at once.
  virtual bool is_debuggable() { return false; }
  virtual bool halts_new_waves() { return false; }
  // Reports exceptions of a queue (KFD's bits) to the runtime or its debugger. False for a runtime
  // that looks for them in the queue's inactive signal.
  virtual bool queue_exception(uint32_t /*queue*/, uint64_t /*exceptions*/) { return false; }
  // Signals a KFD event, like an interrupt of the device. 0 is no event.
  virtual void set_event(uint32_t event) = 0;
  // The runtime's trap handler for this GPU, and its memory; zeros if there is none.
  struct TrapHandler {
    uint64_t code = 0, memory = 0;
  };
  virtual TrapHandler trap_handler(uint32_t /*gpu*/) { return {}; }
  // Traps that the driver sends to waves of this GPU.
  virtual isa::HostTraps* host_traps(uint32_t /*gpu*/) { return nullptr; }
  // What kernels may access, if that is checked.
  virtual const isa::Allocations* allocations() { return nullptr; }
  // Raises the process' memory-exception events.
  virtual void memory_fault(uint32_t gpu, uint64_t address, MemoryFault reason) = 0;
  // Raises the hardware-exception events: the GPU was reset or is lost.
  virtual void hardware_fault(uint32_t gpu) = 0;
};

}  // namespace softgpu
