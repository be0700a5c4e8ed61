// RaceShadow: which waves of a group have read and written which bytes since the last barrier. Not
// thread-safe; one for each running group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace softgpu::isa {

class RaceShadow {
 public:
  // An access: its wave, its lane, and its instruction (offset from the start of the code).
  struct Mark {
    uint32_t place = 0;
    uint8_t wave = 0, lane = 0;
    bool is_there = false, is_scalar = false;
  };
  struct Conflict {
    Mark other;
    bool other_writes = false;
    uint64_t address = 0;  // of the first byte
  };

  // Forgets all accesses.
  void clear();
  // The earlier access that this one races with, if any.
  std::optional<Conflict> access(uint64_t address, uint32_t bytes, bool is_local, bool writes,
                                 const Mark& mark);
  // More memory was accessed than can be tracked, so some races are missed. True once, until
  // clear().
  bool becomes_full() { return is_full_ && !std::exchange(is_full_told_, true); }

 private:
  // A dword, or a byte if any access was narrower than the dword.
  struct Cell {
    uint64_t key = 0;
    uint32_t epoch = 0;
    bool is_split = false;
    Mark writer, reader, other_reader;  // the readers are of different waves
  };
  static constexpr size_t kFewest = 1024, kMost = size_t{1} << 22;

  Cell* find_or_add(uint64_t key);
  void grow();
  std::optional<Conflict> access_cell(Cell& cell, bool writes, const Mark& mark);
  std::optional<Conflict> access_dword(uint64_t key, bool writes, const Mark& mark);
  std::optional<Conflict> access_byte(uint64_t key, bool writes, const Mark& mark);

  std::vector<Cell> cells_;
  size_t used_ = 0;
  uint32_t epoch_ = 1;
  bool is_full_ = false, is_full_told_ = false;
};

}  // namespace softgpu::isa
