// Program: the code of one loaded code object, decoded where waves come by. Shared by all waves
// that run it, on any thread; what is decoded once stays.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "isa/op.h"

namespace softgpu::isa {

class Coverage;

class Program {
 public:
  // `begin`: where the code is in memory, as long as waves run it.
  Program(sonde::gpu::Architecture architecture, uint64_t begin, uint64_t bytes,
          Coverage* coverage = nullptr);

  // nullptr outside of the code and between instructions. Never an Op without `run`: one that is
  // unknown stops the wave.
  const Op* at(uint64_t pc) {
    const uint64_t place = pc - begin_;
    if (place >= bytes_ || place % 4 != 0) return nullptr;
    const Op* op = slots_[place / 4].load(std::memory_order_acquire);
    return op != nullptr ? op : decode(pc);
  }

  // Of what was decoded, the instruction that ends there. nullptr if there is none.
  const Op* before(uint64_t pc) const;

  // Whether what was decoded is still what stands in memory: code may have been unloaded, and other
  // code loaded at its place.
  bool is_current() const;
  sonde::gpu::Architecture architecture() const { return architecture_; }
  uint64_t begin() const { return begin_; }
  uint64_t bytes() const { return bytes_; }
  // How often which instruction was decoded: names in no order.
  std::vector<const sonde::gpu::Opcode*> decoded() const;

 private:
  const Op* decode(uint64_t pc);

  const sonde::gpu::Architecture architecture_;
  const uint64_t begin_, bytes_;
  const std::unique_ptr<std::atomic<const Op*>[]> slots_;  // one for each dword
  Coverage* const coverage_;                               // may be nullptr
  mutable std::mutex mutex_;
  std::deque<Op> ops_;  // under the mutex
};

// Of an instruction that cannot run: "v_foo_b32" or "0x1234abcd".
std::string name_of(const Op& op);

}  // namespace softgpu::isa
