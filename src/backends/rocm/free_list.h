// FreeList: entries of one type, which have a `next`, kept to be used again. Used under a lock of
// its owner. Runs in the traced program: entries are malloc's.
#pragma once

#include <stdlib.h>

namespace sonde::rocm {

template <typename T>
class FreeList {
 public:
  // An entry whose content is what it was before, or anything; nullptr without memory.
  T* take() {
    T* entry = first_;
    if (entry == nullptr) return static_cast<T*>(malloc(sizeof(T)));
    first_ = entry->next;
    return entry;
  }
  void give(T* entry) {
    entry->next = first_;
    first_ = entry;
  }

 private:
  T* first_ = nullptr;
};

}  // namespace sonde::rocm
