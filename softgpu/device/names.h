// KernelNames: from a dispatch's kernel object to the kernel's name, through the symbol table of
// the code object that ROCr loaded around it. One instance per queue; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "device/memory.h"

namespace softgpu {

class KernelNames {
 public:
  explicit KernelNames(const GpuMemory& memory) : memory_(memory) {}

  // Mangled, without ".kd"; "" if the kernel has none. Valid until the next call.
  const std::string& find(uint64_t kernel_object);

 private:
  // Where the name was found. If the code object was freed and its memory reused, this data has
  // changed, and the name is looked up again.
  struct Entry {
    std::string name;
    uint64_t symbol = 0;  // address of the ELF symbol, 0 = none found
    uint64_t text = 0;    // address of its name
    uint64_t value = 0;   // the symbol's value
    uint64_t head = 0;    // first bytes of the kernel descriptor
  };
  Entry look_up(uint64_t kernel_object) const;
  bool still_there(const Entry& entry, uint64_t kernel_object) const;
  uint64_t read_head(uint64_t kernel_object) const;

  const GpuMemory& memory_;
  std::unordered_map<uint64_t, Entry> entries_;
};

}  // namespace softgpu
