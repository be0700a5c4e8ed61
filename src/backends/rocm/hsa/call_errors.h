// What HIP's part tells the board of the process: calls that failed.
#pragma once

namespace sonde::hsa {

// Nothing happens where there is no board, or where the code is no error. Keeps nothing of
// `function`.
void note_call_error(const char* function, int code);

}  // namespace sonde::hsa
