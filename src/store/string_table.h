// StringTable: text -> id, for the de-duplicated strings of a file. Open addressing over texts that
// live in an arena, because a trace has millions of look-ups and few distinct texts.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace sonde::store {

class StringTable {
 public:
  StringTable();

  // The id of `text`, or 0.
  int64_t find(std::string_view text) const;
  // `text` must not be there yet; `id` must not be 0.
  void insert(std::string_view text, int64_t id);
  size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t hash = 0;
    int64_t id = 0;  // 0 = free
    const char* data = nullptr;
    size_t size = 0;
  };

  void grow();
  const char* store(std::string_view text);

  std::vector<Slot> slots_;
  size_t size_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t room_ = 0;  // bytes free at the end of the last block
  char* next_ = nullptr;
};

}  // namespace sonde::store
