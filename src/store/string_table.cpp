#include "store/string_table.h"

#include <cstring>
#include <functional>

namespace sonde::store {

namespace {

constexpr size_t kBlockBytes = 256 * 1024;
constexpr size_t kFirstSlots = 1024;

uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

}  // namespace

StringTable::StringTable() : slots_(kFirstSlots) {}

int64_t StringTable::find(std::string_view text) const {
  const uint64_t hash = hash_of(text);
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id == 0) return 0;
    if (slot.hash == hash && slot.size == text.size() &&
        (text.empty() || std::memcmp(slot.data, text.data(), text.size()) == 0)) {
      return slot.id;
    }
  }
}

void StringTable::insert(std::string_view text, int64_t id) {
  if ((size_ + 1) * 2 > slots_.size()) grow();
  const uint64_t hash = hash_of(text);
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  while (slots_[i].id != 0) i = (i + 1) & mask;
  slots_[i] = Slot{hash, id, store(text), text.size()};
  ++size_;
}

void StringTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == 0) continue;
    size_t i = slot.hash & mask;
    while (slots_[i].id != 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

const char* StringTable::store(std::string_view text) {
  if (text.empty()) return "";
  if (text.size() > room_) {
    const size_t bytes = text.size() > kBlockBytes ? text.size() : kBlockBytes;
    blocks_.push_back(std::make_unique<char[]>(bytes));
    next_ = blocks_.back().get();
    room_ = bytes;
  }
  char* const place = next_;
  std::memcpy(place, text.data(), text.size());
  next_ += text.size();
  room_ -= text.size();
  return place;
}

}  // namespace sonde::store
