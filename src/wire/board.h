// The board: what a process has its GPUs do at the moment, in a file that outlives it. Written by
// the ROCm backend as the program goes, read by src/fault when a GPU or the program has failed.
//
//   <session>/boards/<PID>-<BEGUN>          a Board, mapped by the process
//   <session>/boards/<PID>-<BEGUN>.log      a line for each code object, module and Python code
//   <session>/boards/<PID>-<BEGUN>.N        a copy of a code object that was in no file
//
// Its blocks are allocated when it is made. A reader takes a copy and believes nothing: entries of
// a process that was killed may be half written, which shows in their numbers.
#pragma once

#include <stdint.h>

namespace sonde::wire {

// Set in the environment of a program whose launches' stacks are to be kept.
constexpr const char* kBoardLaunches = "SONDE_BOARD_LAUNCHES";
// Set where somebody reports at once: at a fault the process stays as it is until then
// (`reported`), so that its memory can be read.
constexpr const char* kBoardHolds = "SONDE_BOARD_HOLDS";

constexpr uint64_t kBoardMagic = 0x37445241'4f424453;  // "SDBOARD7"
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

// Frames as FORMAT.md packs them, innermost first; modules and codes are numbers of the log's.
struct BoardStack {
  uint32_t tid;
  uint32_t bytes;  // 0: not known
  char call[40];   // the last function of HIP that the thread called; "": not known, or none
  char frames[kBoardStackBytes];
};

struct BoardQueue {
  uint64_t handle;  // 0: the entry is free
  uint64_t id;      // the runtime's
  int64_t made_ns, gone_ns;
  int32_t gpu;
  uint32_t packets;
  uint64_t consumed;  // at least so many of its packets are over, ever
};

// Number N is in place N % kBoardDispatches, from `number` = N + 1 on. Written at each launch, so
// it is one cache line, of which only the launching thread writes. The times of launch and end are
// those of the collector's last look: some 2 ms early, more where CPUs are short.
struct alignas(64) BoardDispatch {
  uint64_t number;
  int64_t launched_ns;
  uint64_t kernel_object, kernarg;
  uint32_t grid[3];
  uint16_t group[3];
  uint8_t queue;  // place among the queues
  uint8_t dimensions;
  uint32_t group_bytes, private_bytes;
  uint32_t packet;  // the low bits of its index in the queue
};
static_assert(sizeof(BoardDispatch) == 64 && kBoardQueues < 256);

// That a dispatch is over, in its place. Apart from it, for the cores that launch and those that
// see ends would take the line from each other at every launch.
struct BoardEnd {
  uint64_t number;  // as the dispatch's; of another one where this one is not known to be over
  int64_t time_ns;
};

// A packet that waits for others. In place N % kBoardBarriers, from `number` = N + 1 on. Nothing
// tells that it is over but what comes behind it in its queue, or the signal that it completes.
struct BoardBarrier {
  uint64_t number;
  uint64_t dispatches;     // how many there were before it
  uint64_t depends_on[5];  // signals; 0: none
  uint64_t completion;
  uint32_t packet;  // as a dispatch's
  uint8_t queue;
  uint8_t any;  // one of the signals will do
  uint16_t reserved;
};

// Where a dispatch was launched, in the place of the dispatch; only where that was asked for.
struct BoardLaunch {
  uint64_t number;  // the dispatch's
  BoardStack stack;
};

struct BoardAllocation {
  uint64_t address, bytes;  // address 0: free
  int64_t made_ns, freed_ns;
  int32_t gpu;    // -1: of the host
  uint32_t kind;  // enum BoardMemory
  BoardStack made, freed;
};
enum BoardMemory : uint32_t { kBoardPool = 0, kBoardLocked = 1 };

enum BoardFaultKind : uint32_t { kBoardMemoryFault = 1, kBoardQueueError = 2 };
struct BoardFault {
  uint32_t kind;  // stored last; 0: none
  int32_t gpu;
  uint32_t queue;  // place among the queues; kBoardQueues: not known
  uint32_t status, reasons;
  uint32_t tid;
  uint64_t address;
  int64_t time_ns;
  uint64_t dispatches;   // how many there were
  uint32_t host_mapped;  // memory of the process lies at the address
  uint32_t reserved;
  char text[192];
};

// What lay in a dispatch's arguments when a fault came.
struct BoardArguments {
  uint64_t number;  // of the dispatch, plus 1
  uint32_t bytes;
  uint32_t error;  // errno: they could not be read
  char data[kBoardArgumentBytes];
};

// The newest call into HIP that failed.
struct BoardCallError {
  int64_t time_ns;  // stored last
  int32_t code;
  uint32_t calls;  // that failed in all
  uint64_t to, from,
      bytes;       // of one that copies, fills or frees memory: its pointers; 0: none, or not told
  uint32_t frees;  // it frees `to`
  uint32_t reserved;
  char function[48];
  BoardStack stack;
};

// A call into RCCL. In place N % kBoardCollectives, from `number` = N + 1 on.
struct BoardCollective {
  uint64_t number;
  uint64_t communicator;          // as the process names it
  uint64_t group;                 // the same in all its ranks
  uint64_t sequence;              // among the calls of this rank on it, from 1; 0: it was made
  int64_t begun_ns, returned_ns;  // 0: not yet
  uint64_t first_dispatch, dispatches;  // the call made those between the two, at most
  uint64_t count;
  int32_t rank, ranks;
  int32_t type, root;  // ncclDataType_t; -1: it has none
  char name[32];
  BoardStack stack;
};

// Of one that runs there is no stack unless the reader stops it for a moment; of one that waits for
// moments only, it may be of two of them.
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

// What a thread was doing when somebody asked.
struct BoardThread {
  uint32_t tid;
  uint32_t runs;  // enum BoardThreadState
  char name[16];
  BoardStack stack;
};

struct Board {
  uint64_t magic;  // stored last
  uint32_t bytes;  // of all this
  uint32_t pid;
  int64_t begun_ns;
  uint64_t next_dispatch, next_barrier;
  uint64_t allocations_made, allocations_lost;
  uint32_t fault_count, queue_count, allocation_count, gpu_count;
  uint32_t reported;       // by the reader: not 0 from the first report on
  uint32_t threads_asked;  // by the reader: one more for each time
  uint32_t threads_told;   // as far as that was answered
  uint32_t thread_count;
  uint32_t stops;          // by the reader: not 0 while it stops threads, one after the other
  uint32_t stopped_asked;  // by the reader: one more for each that stands
  uint32_t stopped_place;  // which of `threads`
  uint32_t stopped_told;   // as far as that was answered
  BoardRegisters stopped;
  uint64_t next_collective;
  char architectures[kBoardGpus][16];  // of GPUs, "gfx90a"; the newest may be missing
  char program[512];                   // the file that runs; "" where it is too long
  BoardCallError call_error;
  BoardFault faults[kBoardFaults];
  BoardArguments arguments[kBoardArguments];
  BoardQueue queues[kBoardQueues];
  BoardDispatch dispatches[kBoardDispatches];
  BoardEnd ends[kBoardDispatches];
  uint64_t completions[kBoardDispatches];  // the program's signal in each dispatch's packet
  BoardBarrier barriers[kBoardBarriers];
  BoardCollective collectives[kBoardCollectives];
  BoardThread threads[kBoardThreads];
  BoardAllocation allocations[kBoardAllocations];
  BoardLaunch launches[kBoardDispatches];
};

// When the dispatch in a place was seen to be over; 0: not yet.
inline int64_t ended_ns(const Board& board, uint64_t place) {
  const BoardEnd& end = board.ends[place];
  return end.number == board.dispatches[place].number ? end.time_ns : 0;
}

}  // namespace sonde::wire
