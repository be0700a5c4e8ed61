// What a process' OpenCL devices are doing, in a file that outlives the process: on a CPU device, a
// kernel that crashes takes the program with it. Written by the OpenCL backend when a reader is
// watching (wire/board.h: kBoardHolds), read by src/fault.
//
//   <session>/boards/<PID>-<BEGUN>.cl       a ClBoard, mapped by the process
#pragma once

#include <stdint.h>

namespace sonde::wire {

constexpr uint64_t kClBoardMagic = 0x31424c43'4f424453;
constexpr uint32_t kClLaunches = 256;  // the newest; a power of two
constexpr uint32_t kClArguments = 12;

enum ClKind : uint32_t { kClUnknown = 0, kClValue = 1, kClBuffer = 2, kClLocal = 3 };

struct ClArgument {
  uint32_t kind;  // enum ClKind
  uint32_t bytes;
  uint64_t word;            // the first bytes of the value; of a buffer, its handle
  uint64_t buffer_bytes;    // 0: unknown
  char name[24], type[24];  // "" if the compiler did not keep them
};

// Launch N is in place N % kClLaunches, and `number` = N + 1 makes it valid.
struct ClLaunch {
  uint64_t number;
  int64_t launched_ns, ended_ns;  // 0: not seen to have ended
  uint64_t queue;
  uint64_t grid[3];
  uint32_t group[3];  // 0: chosen by the runtime
  uint32_t argument_count;
  char kernel[96], device[64];
  ClArgument arguments[kClArguments];
};

struct ClBoard {
  uint64_t magic;  // stored last
  uint32_t bytes, pid;
  int64_t begun_ns;
  uint64_t next;
  ClLaunch launches[kClLaunches];
};

}  // namespace sonde::wire
