// TextTable: the texts of a string table in one block of memory, found by row id or by index.
// Used by the exporters, which read each string once however many rows point to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "export/id_index.h"

namespace sonde::exporting {

class TextTable {
 public:
  void add(int64_t id, std::string_view text) {
    ids_.add(id);
    bytes_.append(text);
    ends_.push_back(bytes_.size());
  }
  // A text that no row has; only its index finds it. After the last add().
  uint32_t append(std::string_view text) {
    bytes_.append(text);
    ends_.push_back(bytes_.size());
    return size() - 1;
  }
  void finish() { ids_.finish(); }

  uint32_t size() const { return static_cast<uint32_t>(ends_.size()); }
  uint32_t find(int64_t id) const { return ids_.find(id); }  // IdIndex::kNone if not there

  // '' for IdIndex::kNone.
  std::string_view at(uint32_t index) const {
    if (index >= ends_.size()) return {};
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(bytes_).substr(begin, ends_[index] - begin);
  }

 private:
  IdIndex ids_;
  std::string bytes_;
  std::vector<size_t> ends_;
};

}  // namespace sonde::exporting
