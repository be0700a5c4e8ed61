// What HIP's part tells the board of the process: calls that failed.
#pragma once

#include <stdint.h>

namespace sonde::hsa {

// What a call was to do with memory: 0 where it has no such argument.
struct CallMemory {
  uint64_t to = 0, from = 0, bytes = 0;
  bool frees = false;  // `to`
};

// Nothing happens where there is no board, or where the code is no error. Keeps nothing of
// `function`.
void note_call_error(const char* function, int code, const CallMemory& memory);

}  // namespace sonde::hsa
