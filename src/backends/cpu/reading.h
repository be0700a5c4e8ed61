// Reads an interpreter's memory, whose contents may be inconsistent while the interpreter changes
// it.
#pragma once

#include <stdint.h>
#include <string.h>

#include "backends/cpu/copying.h"
#include "backends/cpu/unwind.h"

namespace sonde::cpu {

template <typename T>
T field(const char* object, uint64_t offset) {
  T value;
  memcpy(&value, object + offset, sizeof value);
  return value;
}

// The memory for one walk; caches which pages exist. Either the thread's own memory, with the part
// of its stack that is in use, or another thread's, which may vanish at any time and is copied by
// the kernel.
class Reading {
 public:
  explicit Reading(const StackBounds& in_use) : stack_(in_use) {}
  static Reading of_another() { return Reading(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  bool is_of_another() const { return is_of_another_; }

  // What exists for sure, and stays during the walk: a chunk of frames, and the pages of an object.
  void know_chunk(const StackBounds& chunk) { chunk_ = chunk; }
  void know_pages(uint64_t address, uint64_t bytes) {
    const uint64_t last = (address + bytes - 1) / 4096;
    for (uint64_t page = address / 4096; page <= last; ++page) pages_[page % kPages] = page;
  }

  // 0 if there is nothing.
  template <typename T>
  T at(uint64_t object, uint64_t offset) {
    T value = {};
    const uint64_t address = object + offset;
    if (knows(address, sizeof value) || can_read(address, sizeof value)) {
      memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    } else if (is_of_another_ && !copy_carefully(&value, address, sizeof value)) {
      value = {};
    }
    return value;
  }

  // The beginning of an object: in place or, for another thread, copied into `room`. nullptr if it
  // does not exist.
  const char* look_at(uint64_t object, uint64_t bytes, char* room) {
    if (knows(object, bytes) || can_read(object, bytes)) {
      return reinterpret_cast<const char*>(object);
    }
    return is_of_another_ && copy_carefully(room, object, bytes) ? room : nullptr;
  }

  // Whether all of it can be read in place.
  [[gnu::noinline]] bool can_read(uint64_t address, uint64_t bytes) {
    if (is_of_another_) return false;
    const uint64_t last = address + bytes - 1;
    for (uint64_t at = address; at < last; at = (at | 4095) + 1) {
      if (!can_read_page(at)) return false;
    }
    return can_read_page(last);
  }

 private:
  Reading() : is_of_another_(true) {}

  bool knows(uint64_t address, uint64_t bytes) const {
    if (address - chunk_.low < chunk_.high - chunk_.low) return bytes <= chunk_.high - address;
    const uint64_t page = address / 4096;
    return pages_[page % kPages] == page && address % 4096 + bytes <= 4096;
  }

  bool can_read_page(uint64_t address) {
    const uint64_t page = address / 4096;
    uint64_t& known = pages_[page % kPages];
    if (known == page) return true;
    if (page == 0) return false;
    // Not remembered: it would take the place of a page that has to be asked for again.
    if (page >= stack_.low / 4096 && page * 4096 < stack_.high) return true;
    if (address - chunk_.low < chunk_.high - chunk_.low) return true;
    if (!is_there(address)) return false;
    known = page;
    return true;
  }

  static constexpr uint64_t kPages = 64;
  const bool is_of_another_ = false;
  const StackBounds stack_;
  StackBounds chunk_;
  uint64_t pages_[kPages] = {~uint64_t{0}};  // the first page never exists
};

}  // namespace sonde::cpu
