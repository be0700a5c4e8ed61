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
  void finish() { ids_.finish(); }

  uint32_t size() const { return ids_.size(); }
  uint32_t find(int64_t id) const { return ids_.find(id); }  // IdIndex::kNone if not there

  // '' for kNone: a row whose string was lost is shown without its text, not left out.
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
