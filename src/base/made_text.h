// Text built for one call: inside the object if short, else from malloc. Base of the classes that
// convert or join texts in the traced program.
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include "base/errno_keeper.h"
#include "base/pinned.h"

namespace sonde {

class MadeText : Pinned {
 public:
  ~MadeText() { free(heap_); }
  const char* text() const { return heap_ != nullptr ? heap_ : inline_; }

 protected:
  struct Room {
    char* to;
    size_t bytes;  // without the terminator; fewer than requested if there is no memory
  };
  Room make_room(size_t bytes) {
    if (bytes >= sizeof inline_) {
      const ErrnoKeeper keep;
      heap_ = static_cast<char*>(malloc(bytes + 1));
    }
    if (heap_ != nullptr) return {heap_, bytes};
    return {inline_, sizeof inline_ - 1};
  }

 private:
  char inline_[256];
  char* heap_ = nullptr;
};

}  // namespace sonde
