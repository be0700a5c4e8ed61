// NameTable: the file's string ids as dense indices while rows are read, and the texts afterwards.
// Ids of one recording are small and dense, and those of the next one start at a multiple of 2^32,
// so almost every lookup is an array access.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace sonde::trace {

class NameTable {
 public:
  // Instead of a string id: the empty text.
  static constexpr int64_t kNoString = INT64_MIN;

  // A dense index for a string id; the same id gives the same index.
  uint32_t index(int64_t string_id) {
    const auto high = static_cast<uint64_t>(string_id) >> 32;
    const auto low = static_cast<uint32_t>(string_id);
    if (low < kDirect) {
      if (high != current_high_) select(high);
      if (low < current_->size() && (*current_)[low] != 0) return (*current_)[low] - 1;
    }
    return add(string_id, high, low);
  }

  // Reads the texts of all indices given out; an id without a row becomes "<string ID>". Different
  // ids of equal text get one name: old indices are translated by remap[index].
  struct Texts {
    std::vector<std::string> names;
    std::vector<uint32_t> remap;
    uint32_t empty_name = 0;
  };
  Result<Texts> resolve(store::Database& database) const;

 private:
  static constexpr uint32_t kDirect = 1 << 24;
  using Direct = std::vector<uint32_t>;  // index + 1, by the low half of the id

  void select(uint64_t high);
  uint32_t add(int64_t string_id, uint64_t high, uint32_t low);

  std::unordered_map<uint64_t, Direct> direct_;
  std::unordered_map<int64_t, uint32_t> others_;
  std::vector<int64_t> ids_;
  uint64_t current_high_ = ~uint64_t{0};
  Direct* current_ = nullptr;
};

}  // namespace sonde::trace
