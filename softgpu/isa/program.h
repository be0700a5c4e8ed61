// Program: the code of one loaded code object, decoded lazily where waves execute it. Shared by all
// waves that run it, on any thread; decoded instructions are kept.
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
  // `begin`: where the code is in memory for as long as waves run it.
  Program(sonde::gpu::Architecture architecture, uint64_t begin, uint64_t bytes,
          Coverage* coverage = nullptr);

  // nullptr outside the code and between instructions. Never an Op without `run`: an unknown
  // instruction gets one that stops the wave.
  const Op* at(uint64_t pc) {
    const uint64_t place = pc - begin_;
    if (place >= bytes_ || place % 4 != 0) return nullptr;
    const Op* op = slots_[place / 4].load(std::memory_order_acquire);
    return op != nullptr ? op : decode(pc);
  }

  // The decoded instruction that ends at pc; nullptr if there is none.
  const Op* before(uint64_t pc) const;

  // Whether the decoded code is still what is in memory: the code may have been unloaded and other
  // code loaded in its place.
  bool is_current() const;
  sonde::gpu::Architecture architecture() const { return architecture_; }
  uint64_t begin() const { return begin_; }
  uint64_t bytes() const { return bytes_; }

 private:
  const Op* decode(uint64_t pc);

  const sonde::gpu::Architecture architecture_;
  const uint64_t begin_, bytes_;
  const std::unique_ptr<std::atomic<const Op*>[]> slots_;  // one per dword
  Coverage* const coverage_;                               // may be nullptr
  mutable std::mutex mutex_;
  std::deque<Op> ops_;  // protected by the mutex
};

// The name of an instruction that cannot run: "v_foo_b32" or "0x1234abcd".
std::string name_of(const Op& op);

}  // namespace softgpu::isa
