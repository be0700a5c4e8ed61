// FaultReport: what is known about the failure of a GPU, or of a program that uses one, as plain
// values. Composed from a board (compose.h), shown by text.h and json.h, stored by the recorder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sonde::fault {

struct StackFrame {
  std::string function, file, module;  // "" if unknown
  int64_t line = 0;
  bool is_python = false;
  bool is_runtime = false;  // part of ROCm itself
};

struct Allocation {
  uint64_t address = 0, bytes = 0;
  int gpu = -1;
  bool locked = false;                  // host memory that the program registered for the GPU
  int64_t made_ns = 0, freed_ns = 0;    // CLOCK_MONOTONIC; freed 0: not freed
  std::string call;                     // "hipMalloc"
  std::vector<StackFrame> made, freed;  // without the runtime's frames
};

// The position of an address relative to an allocation.
struct Place {
  size_t allocation = 0;  // index into the report's list
  int64_t offset = 0;     // from its start; may be before or after it
};

struct Argument {
  std::string name, type, kind;  // "global_buffer", "by_value", "hidden_..."
  uint32_t offset = 0, bytes = 0;
  std::string value;  // as text; "" if unknown
  uint64_t word = 0;  // of a pointer
  bool is_pointer = false;
  std::optional<Place> place;
};

struct Dispatch {
  uint64_t number = 0;
  std::string kernel, name;  // mangled, demangled; "" if no code object has it
  uint64_t object = 0;       // the kernel object in the packet
  int gpu = -1;
  uint64_t queue = 0;
  uint64_t packet = 0;
  uint32_t grid[3] = {}, group[3] = {};
  uint32_t group_bytes = 0, private_bytes = 0;
  int64_t launched_ns = 0, ended_ns = 0;
  std::string call;                // the runtime call that launched it
  std::vector<StackFrame> launch;  // from the program's call outwards; empty if it was not kept
  std::vector<Argument> arguments;
  std::string no_arguments;  // why there are none, or not all
  std::optional<size_t> code_object;
};

struct CodeObject {
  std::string uri, file;  // the file that contains it, or a copy; "" if its bytes are not available
  uint64_t offset = 0, bytes = 0;  // within that file
  uint64_t base = 0, loaded_bytes = 0;
  int64_t delta = 0;
  std::string saved;  // the file it was saved as
};

struct DisassemblyLine {
  uint64_t address = 0, offset = 0;  // offset: from the kernel's first instruction
  std::string text;
  bool is_pc = false;
  std::string file, source;  // its source line and that line's text; "" if unknown
  int64_t line = 0;
};

// Waves that stopped at the same place for the same reason.
struct WaveLane {
  unsigned lane = 0;
  uint64_t address = 0;  // that it was about to access
};
// A finding of the software GPU's --check (softgpu/isa/WAVES.md).
struct CheckFinding {
  std::string kind;       // "out_of_bounds", "use_after_free", "uninitialised_read", "race"
  std::string access;     // "load", "store", "atomic"
  bool is_local = false;  // in LDS; addresses are offsets there
  uint64_t begin = 0, address = 0;  // start of the lane's access, and its first invalid byte
  uint64_t bytes = 0, lane = 0, lanes = 0, wave = 0;
  uint64_t local_bytes = 0;                               // LDS of the work-group
  uint64_t other_pc = 0, other_wave = 0, other_lane = 0;  // the other access of a race
  bool is_scalar = false, other_is_scalar = false;        // by the whole wave, not by one lane
  std::string other_access, other_instruction;
  uint64_t kernel_object = 0, kernarg = 0;  // of the dispatch, if it continued
  std::string arguments;                    // the kernarg segment in hexadecimal
};
struct Wave {
  uint64_t group = 0, group_id[3] = {}, number = 0;
  uint64_t pc = 0, offset = 0, exec = 0;
  std::string why, kernel;
  uint64_t kernel_object = 0;  // in case the kernel's name is unknown
  uint64_t dispatch = 0;
  uint64_t trap = 0;
  std::string state;            // the line of the file: all registers, as JSON
  std::vector<WaveLane> lanes;  // of a failed memory access
  int64_t pid = 0;
  int gpu = -1;
  int64_t time_ns = 0;
  std::optional<CheckFinding> finding;
};
struct WaveGroup {
  uint64_t pc = 0, entry = 0;  // entry: the kernel's first instruction; 0 if unknown
  std::string why, kernel, instruction;
  std::vector<Wave> waves;
  std::string function;  // mangled: the kernel, or a function that it calls; "" if unknown
  std::vector<DisassemblyLine> disassembly;
  uint64_t offset() const { return entry != 0 ? pc - entry : 0; }
};

// An access outside of a wave's LDS or private memory, or one that the hardware rejected.
struct Violation {
  enum class Kind : uint8_t { kMisaligned, kOutsideLds, kOutsidePrivate } kind;
  unsigned lane = 0;     // the first such lane
  uint64_t address = 0;  // within LDS or private memory, else the full address
  uint32_t bytes = 0;    // size of the access
  uint64_t room = 0;     // size of LDS, or of a lane's private memory; 0: in neither
};

// A packet that will decrement a signal when it completes.
struct Completer {
  uint64_t queue = 0, packet = 0;
  std::string kernel;  // "" for a barrier
};
struct AwaitedSignal {
  uint64_t handle = 0;
  std::optional<int64_t> value;  // nothing if it could not be read
  std::vector<Completer> by;     // packets in flight
};
// What blocks a queue: a barrier that waits for signals.
struct QueueWait {
  int gpu = -1;
  uint64_t queue = 0, packet = 0;
  bool any = false;      // one signal suffices
  bool certain = false;  // some packet in the queue has certainly not completed
  int64_t ahead = 0;     // unfinished dispatches before it
  std::vector<AwaitedSignal> signals;
};

// A rank's call on a communicator, as published by its process.
struct RankCall {
  uint64_t communicator = 0;  // the same in all ranks of the communicator
  int ranks = 0, rank = 0;
  std::string host;
  int64_t pid = 0;
  bool process_ended = false;
  uint64_t sequence = 0;  // as in wire::BoardCollective
  std::string name;
  uint64_t count = 0;
  int type = -1, root = -1;
  bool is_open = false;           // still open, as far as known
  std::vector<StackFrame> stack;  // for each rank's newest call, and its oldest open one
};

// A rank that is missing in a collective, and its last call on that communicator.
struct LateRank {
  int rank = 0;
  int64_t pid = 0;
  bool ended = false;      // its process has ended
  uint64_t calls = 0;      // number of collectives; 0: it has only created the communicator
  bool transfers = false;  // besides sends and receives
  std::string call;        // "ncclAllReduce of 1024 elements"
  std::vector<StackFrame> stack;
};
struct CollectiveWait {
  int ranks = 0;          // of the communicator
  uint64_t sequence = 0;  // of the call in which others wait
  std::string call;
  std::vector<int> arrived, unknown;  // unknown: in no process that is watched here
  std::vector<LateRank> late;
  bool differs = false;  // `late` has all ranks: they called different things
};

// A thread of the program at one moment.
struct HostThread {
  int64_t tid = 0;
  std::string name, call;  // call: the runtime call that it is in
  // Enum wire::BoardThreadState: says whether its stack is known, and exact.
  uint32_t runs = 0;
  std::vector<StackFrame> stack;
};

// One operand of a call that copies, fills or frees memory.
struct CallSide {
  std::string verb;  // "writes", "reads" or "frees"
  uint64_t address = 0;
  std::optional<Place> place;  // in a live or freed allocation
};

struct FaultReport {
  // "memory fault", "queue error", "host crash", "HIP error", "hang"; "state": SIGQUIT asked for
  // it; from checked kernels, "race" and "uninitialised read".
  std::string kind;
  std::string title;  // one line
  int64_t pid = 0;
  std::string program, ended;
  int gpu = -1;
  std::optional<uint64_t> queue;
  uint64_t address = 0;
  bool has_address = false, address_is_exact = false, host_mapped = false;
  uint32_t status = 0, reasons = 0;
  std::string reason;
  int64_t time_ns = 0;
  std::string cause, evidence, advice;
  std::vector<Allocation> allocations;  // those that the report refers to
  std::optional<Place> nearest;
  std::vector<Dispatch> in_flight;  // the oldest first
  std::optional<size_t> culprit;    // index into in_flight
  std::string how_sure;             // why it is this one
  std::vector<Dispatch> finished;   // the newest first
  std::vector<CodeObject> code_objects;
  std::string function;  // the function that is disassembled
  std::vector<DisassemblyLine> disassembly;
  std::vector<WaveGroup> waves;
  std::optional<Violation> violation;
  std::string assertion;  // the text of a failed assert()
  std::string page;       // what the GPU and the process have mapped at the address; "" = unknown
  std::optional<CheckFinding> finding;  // if that is what is reported
  std::string no_waves;                 // why there are none, or not all, and how to get them
  std::vector<QueueWait> waits;         // of a program that still runs
  // Indexes into `waits`: each waits for the next, the last one for the first.
  std::vector<size_t> cycle;
  std::vector<CollectiveWait> collectives;
  std::vector<RankCall> rank_calls;  // on the process' communicators, the newest of each rank
  std::vector<HostThread> threads;   // threads whose stacks contain frames of the program
  size_t other_threads = 0;          // threads of the runtimes
  std::string no_threads;            // why they are unknown
  // The architectures of the GPUs and of the kernels in the program's file, if none match.
  std::string wrong_architecture;
  std::string no_waits;  // why it is unknown what queues wait for
  // The last failed HIP call.
  std::string call;
  int call_code = 0;
  bool call_was_repeated = false;  // hipGetLastError or the like returned its error again
  std::vector<StackFrame> call_stack;
  uint64_t call_bytes = 0;           // 0: the call has no size argument
  std::vector<CallSide> call_sides;  // operands that are in buffers
  bool call_misuses_memory = false;  // an operand is freed, or too small: that is the cause
  // It should launch a kernel that has no code for the GPU: nothing ran.
  bool call_lacks_code = false;
};

}  // namespace sonde::fault
