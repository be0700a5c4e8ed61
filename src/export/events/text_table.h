// TextTable: the texts of a string table in blocks of memory, found by row id or by index.
// Used by the exporters, which read each string once however many rows point to it. Texts stay
// where they are as the table grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "export/events/id_index.h"

namespace sonde::exporting {

class TextTable {
 public:
  void add(int64_t id, std::string_view text) {
    ids_.add(id);
    append(text);
  }
  // A text that no row has; only its index finds it. After the last add().
  uint32_t append(std::string_view text) {
    if (text.size() > room_) add_block(text.size());
    texts_.emplace_back(next_, text.copy(next_, text.size()));
    next_ += text.size();
    room_ -= text.size();
    return size() - 1;
  }
  void finish() { ids_.finish(); }

  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  uint32_t find(int64_t id) const { return ids_.find(id); }  // IdIndex::kNone if not there

  // '' for IdIndex::kNone.
  std::string_view at(uint32_t index) const {
    return index < texts_.size() ? texts_[index] : std::string_view();
  }

 private:
  static constexpr size_t kBlock = 1 << 20;

  void add_block(size_t least) {
    room_ = std::max(least, blocks_.empty() ? kBlock / 16 : kBlock);
    blocks_.emplace_back(new char[room_]);
    next_ = blocks_.back().get();
  }

  IdIndex ids_;
  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t room_ = 0;
};

}  // namespace sonde::exporting
