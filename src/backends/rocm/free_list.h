// FreeList: a list of unused entries of one type, which have a `next`. Its owner's lock protects
// it. Runs in the traced program: entries come from malloc.
#pragma once

#include <stdlib.h>

namespace sonde::rocm {

template <typename T>
class FreeList {
 public:
  // An entry with undefined contents; nullptr without memory.
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
