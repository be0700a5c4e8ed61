// The board: what a process' GPUs are doing at the moment, in a file that outlives the process.
// Written by the ROCm backend while the program runs, read by src/fault when a GPU or the program
// has failed.
//
//   <session>/boards/<PID>-<BEGUN>          a Board, mapped by the process
//   <session>/boards/<PID>-<BEGUN>.log      a line for each code object, module and Python code
//   <session>/boards/<PID>-<BEGUN>.N        a copy of a code object that was in no file
//
// Its blocks are allocated when it is made. A reader works on a copy and trusts nothing: entries of
// a process that was killed may be half written, which their numbers reveal.
#pragma once

#include <stdint.h>
#include <string.h>

namespace sonde::wire {

// Set in the environment of a program whose kernel launches should keep their call stacks.
constexpr const char* kBoardLaunches = "SONDE_BOARD_LAUNCHES";
// Set when a reader reports while the program runs: after a fault the process then stays as it is
// until the reader sets `reported`, so that its memory can be read.
constexpr const char* kBoardHolds = "SONDE_BOARD_HOLDS";

constexpr uint64_t kBoardMagic = 0x38445241'4f424453;  // "SDBOARD8"
constexpr uint32_t kBoardQueues = 128;
constexpr uint32_t kBoardDispatches = 8192;  // the newest; a power of two
constexpr uint32_t kBoardBarriers = 4096;    // the newest; a power of two
constexpr uint32_t kBoardAllocations = 8192;
constexpr uint32_t kBoardFaults = 8;
constexpr uint32_t kBoardArguments = 16;
constexpr uint32_t kBoardArgumentBytes = 1024;
constexpr uint32_t kBoardStackBytes = 232;
constexpr uint32_t kBoardThreads = 64;
constexpr uint32_t kBoardGpus = 32;
constexpr uint32_t kBoardCollectives = 256;  // the newest; a power of two

// Frames packed as in FORMAT.md, innermost first; module and code numbers are those of the log.
struct BoardStack {
  uint32_t tid;
  uint32_t bytes;  // 0: unknown
  char call[40];   // the last HIP function that the thread called; "": unknown, or none
  char frames[kBoardStackBytes];
};

struct BoardQueue {
  uint64_t handle;  // 0: the entry is free
  uint64_t id;      // the runtime's id
  int64_t made_ns, gone_ns;
  int32_t gpu;
  uint32_t packets;
  uint64_t consumed;  // at least this many of its packets, ever, have been consumed
};

// Dispatch N is in place N % kBoardDispatches, and `number` = N + 1 makes it valid. It is written
// at each launch, so it is one cache line that only the launching thread writes. Launch and end
// times are those of the collector's last poll: some 2 ms early, more where CPUs are scarce.
struct alignas(64) BoardDispatch {
  uint64_t number;
  int64_t launched_ns;
  uint64_t kernel_object, kernarg;
  uint32_t grid[3];
  uint16_t group[3];
  uint8_t queue;  // index into `queues`
  uint8_t dimensions;
  uint32_t group_bytes, private_bytes;
  uint32_t packet;  // the low bits of its packet index
};
static_assert(sizeof(BoardDispatch) == 64 && kBoardQueues < 256);

// Marks the dispatch in the same place as finished. Kept apart: otherwise the cores that launch and
// those that notice ends would bounce the cache line at every launch.
struct BoardEnd {
  uint64_t number;  // the dispatch's `number` if it is known to be over; else another one's
  int64_t time_ns;
};

// A barrier packet. Barrier N is in place N % kBoardBarriers, and `number` = N + 1 makes it valid.
// That it has finished shows only in later packets of its queue, or in its completion signal.
struct BoardBarrier {
  uint64_t number;
  uint64_t dispatches;     // dispatches launched before it
  uint64_t depends_on[5];  // signals; 0: none
  uint64_t completion;
  uint32_t packet;  // as in BoardDispatch
  uint8_t queue;
  uint8_t any;  // barrier-OR: one of the signals suffices
  uint16_t reserved;
};

// Where a dispatch was launched, at the dispatch's place; only with kBoardLaunches.
struct BoardLaunch {
  uint64_t number;  // the dispatch's
  BoardStack stack;
};

struct BoardAllocation {
  uint64_t address, bytes;  // address 0: free
  int64_t made_ns, freed_ns;
  int32_t gpu;    // -1: host memory
  uint32_t kind;  // enum BoardMemory
  BoardStack made, freed;
};
enum BoardMemory : uint32_t { kBoardPool = 0, kBoardLocked = 1 };

enum BoardFaultKind : uint32_t { kBoardMemoryFault = 1, kBoardQueueError = 2 };
struct BoardFault {
  uint32_t kind;  // stored last; 0: none
  int32_t gpu;
  uint32_t queue;  // index into `queues`; kBoardQueues: unknown
  uint32_t status, reasons;
  uint32_t tid;
  uint64_t address;
  int64_t time_ns;
  uint64_t dispatches;   // dispatches launched so far
  uint32_t host_mapped;  // the process has memory mapped at the address
  uint32_t reserved;
  char text[192];
};

// A dispatch's kernarg segment at the time of a fault.
struct BoardArguments {
  uint64_t number;  // the dispatch's `number`
  uint32_t bytes;
  uint32_t error;  // errno if it could not be read
  char data[kBoardArgumentBytes];
};

// The newest HIP call that failed.
struct BoardCallError {
  int64_t time_ns;      // stored last
  int64_t repeated_ns;  // when hipGetLastError or the like returned the same error; 0: not yet
  int32_t code;
  uint32_t calls;  // failed calls in total
  uint64_t to, from,
      bytes;       // of one that copies, fills or frees memory: its pointers; 0: none, or not told
  uint32_t frees;  // the call frees `to`
  uint32_t reserved;
  char function[48];
  BoardStack stack;
};

// A call into RCCL. Call N is in place N % kBoardCollectives, and `number` = N + 1 makes it valid.
struct BoardCollective {
  uint64_t number;
  uint64_t communicator;                // the process' handle
  uint64_t group;                       // the same in all ranks of the communicator
  uint64_t sequence;                    // of this rank's collectives on it, from 1; 0: its creation
  int64_t begun_ns, returned_ns;        // 0: not yet
  uint64_t first_dispatch, dispatches;  // made between begin and return, at most
  uint64_t count;
  int32_t rank, ranks;
  int32_t type, root;  // ncclDataType_t; -1: not applicable
  char name[32];
  BoardStack stack;
};

// A running thread has no stack unless the reader stops it for a moment; the stack of a thread that
// blocks only briefly (kThreadMoves) may mix two moments.
enum BoardThreadState : uint32_t {
  kThreadBlocked = 0,
  kThreadRuns = 1,
  kThreadMoves = 2,
  kThreadStopped = 3
};

// What unwinding a stopped thread needs.
struct BoardRegisters {
  uint64_t pc, stack, frame, rbx, r12, r13, r14, r15;
};

// What a thread was doing when the reader asked.
struct BoardThread {
  uint32_t tid;
  uint32_t runs;  // enum BoardThreadState
  char name[16];
  BoardStack stack;
};

struct Board {
  uint64_t magic;  // stored last
  uint32_t bytes;  // sizeof(Board)
  uint32_t pid;
  int64_t begun_ns;
  uint64_t next_dispatch, next_barrier;
  uint64_t allocations_made, allocations_lost;
  uint32_t fault_count, queue_count, allocation_count, gpu_count;
  uint32_t reported;       // set by the reader: not 0 from the first report on
  uint32_t threads_asked;  // set by the reader: one more for each request
  uint32_t threads_told;   // the last request that was answered
  uint32_t thread_count;
  uint32_t stops;          // set by the reader: not 0 while it stops threads, one at a time
  uint32_t stopped_asked;  // set by the reader: one more for each stopped thread
  uint32_t stopped_place;  // its index in `threads`
  uint32_t stopped_told;   // the last one that was answered
  BoardRegisters stopped;
  uint64_t next_collective;
  char architectures[kBoardGpus][16];  // of GPUs, "gfx90a"; the newest may be missing
  char program[512];                   // the executable's path; "" if too long
  BoardCallError call_error;
  BoardFault faults[kBoardFaults];
  BoardArguments arguments[kBoardArguments];
  BoardQueue queues[kBoardQueues];
  BoardDispatch dispatches[kBoardDispatches];
  BoardEnd ends[kBoardDispatches];
  uint64_t completions[kBoardDispatches];  // completion signals of the dispatch packets
  BoardBarrier barriers[kBoardBarriers];
  BoardCollective collectives[kBoardCollectives];
  BoardThread threads[kBoardThreads];
  BoardAllocation allocations[kBoardAllocations];
  BoardLaunch launches[kBoardDispatches];
};

// Ranks make these as often as each needs: they are no collectives, and have the number of the last
// one before them.
inline bool is_point_to_point(const char* call) {
  return strcmp(call, "ncclSend") == 0 || strcmp(call, "ncclRecv") == 0;
}

// When the dispatch at a place was seen to have finished; 0: not yet.
inline int64_t ended_ns(const Board& board, uint64_t place) {
  const BoardEnd& end = board.ends[place];
  return end.number == board.dispatches[place].number ? end.time_ns : 0;
}

}  // namespace sonde::wire
