// FaultReport: what is known of a failure of a GPU, or of a program with work on one, as values.
// Composed from a board (compose.h), shown by text.h and json.h, stored by the recorder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sonde::fault {

struct StackFrame {
  std::string function, file, module;  // what is not known is ""
  int64_t line = 0;
  bool is_python = false;
  bool is_runtime = false;  // of ROCm itself
};

struct Allocation {
  uint64_t address = 0, bytes = 0;
  int gpu = -1;
  bool locked = false;                  // host memory of the program's, made known to the GPU
  int64_t made_ns = 0, freed_ns = 0;    // CLOCK_MONOTONIC; freed 0: not
  std::string call;                     // "hipMalloc"
  std::vector<StackFrame> made, freed;  // the calls of the runtime are left out
};

// Where an address lies to an allocation.
struct Place {
  size_t allocation = 0;  // in the report's list
  int64_t offset = 0;     // from its begin; may be before or behind it
};

struct Argument {
  std::string name, type, kind;  // "global_buffer", "by_value", "hidden_..."
  uint32_t offset = 0, bytes = 0;
  std::string value;  // as text; "" where it is not known
  uint64_t word = 0;  // of a pointer
  bool is_pointer = false;
  std::optional<Place> place;
};

struct Dispatch {
  uint64_t number = 0;
  std::string kernel, name;  // mangled, demangled; "" where no code object has it
  uint64_t object = 0;       // of the kernel, as the packet has it
  int gpu = -1;
  uint64_t queue = 0;
  uint64_t packet = 0;
  uint32_t grid[3] = {}, group[3] = {};
  uint32_t group_bytes = 0, private_bytes = 0;
  int64_t launched_ns = 0, ended_ns = 0;
  std::string call;                // that launched it
  std::vector<StackFrame> launch;  // from the program's call on; empty where it was not kept
  std::vector<Argument> arguments;
  std::string no_arguments;  // why there are none, or not all
  std::optional<size_t> code_object;
};

struct CodeObject {
  std::string uri, file;  // the file that it is in, or a copy; "" where its bytes are not to be had
  uint64_t offset = 0, bytes = 0;  // in that file
  uint64_t base = 0, loaded_bytes = 0;
  int64_t delta = 0;
  std::string saved;  // the file it was saved as
};

struct DisassemblyLine {
  uint64_t address = 0, offset = 0;  // offset: from the kernel's first instruction
  std::string text;
  bool is_pc = false;
  std::string file, source;  // the line that it was made from, and its text; "" where not known
  int64_t line = 0;
};

// Waves that stand at the same place for the same reason.
struct WaveLane {
  unsigned lane = 0;
  uint64_t address = 0;  // that it was about to touch
};
// What the software GPU found with --check (softgpu/isa/WAVES.md).
struct CheckFinding {
  std::string kind;       // "out_of_bounds", "use_after_free", "uninitialised_read", "race"
  std::string access;     // "load", "store", "atomic"
  bool is_local = false;  // in LDS; addresses are offsets there
  uint64_t begin = 0, address = 0;  // of the lane's access, and its first byte that is wrong
  uint64_t bytes = 0, lane = 0, lanes = 0, wave = 0;
  uint64_t local_bytes = 0;                               // LDS of the work group
  uint64_t other_pc = 0, other_wave = 0, other_lane = 0;  // of a race
  bool is_scalar = false, other_is_scalar = false;        // of a whole wave, not of the lane
  std::string other_access, other_instruction;
  uint64_t kernel_object = 0, kernarg = 0;  // of the dispatch, where it went on
  std::string arguments;                    // its bytes in hexadecimal
};
struct Wave {
  uint64_t group = 0, group_id[3] = {}, number = 0;
  uint64_t pc = 0, offset = 0, exec = 0;
  std::string why, kernel;
  uint64_t kernel_object = 0;  // where the kernel's name is not known
  uint64_t dispatch = 0;
  uint64_t trap = 0;
  std::string state;            // the line itself: all registers, as JSON
  std::vector<WaveLane> lanes;  // of a memory access that failed
  int64_t pid = 0;
  int gpu = -1;
  int64_t time_ns = 0;
  std::optional<CheckFinding> finding;
};
struct WaveGroup {
  uint64_t pc = 0, entry = 0;  // entry: the kernel's first instruction; 0 where it is not known
  std::string why, kernel, instruction;
  std::vector<Wave> waves;
  std::string function;  // mangled: the kernel, or what it calls; "" where it is not known
  std::vector<DisassemblyLine> disassembly;
  uint64_t offset() const { return entry != 0 ? pc - entry : 0; }
};

// What a wave did that left its LDS or private memory, or that the hardware refused an address.
struct Violation {
  enum class Kind : uint8_t { kMisaligned, kOutsideLds, kOutsidePrivate } kind;
  unsigned lane = 0;     // the first that did
  uint64_t address = 0;  // within LDS or private memory, else as it is
  uint32_t bytes = 0;    // of the access
  uint64_t room = 0;     // bytes of LDS, or of a lane's private memory; 0: in neither
};

// A packet that will count a signal down when it is over.
struct Completer {
  uint64_t queue = 0, packet = 0;
  std::string kernel;  // "" of a barrier
};
struct AwaitedSignal {
  uint64_t handle = 0;
  std::optional<int64_t> value;  // nothing where it could not be read
  std::vector<Completer> by;     // of what is in flight
};
// What holds a queue: a barrier whose signals have not come.
struct QueueWait {
  int gpu = -1;
  uint64_t queue = 0, packet = 0;
  bool any = false;      // one signal will do
  bool certain = false;  // something in the queue is known not to be over
  int64_t ahead = 0;     // dispatches before it that have not ended
  std::vector<AwaitedSignal> signals;
};

// A call of a rank on a communicator, as its process has published it.
struct RankCall {
  uint64_t communicator = 0;  // the same in all its ranks
  int ranks = 0, rank = 0;
  std::string host;
  int64_t pid = 0;
  bool process_ended = false;
  uint64_t sequence = 0;  // 0: it is what makes the communicator
  std::string name;
  uint64_t count = 0;
  int type = -1, root = -1;
  bool is_open = false;           // not over, as far as is known
  std::vector<StackFrame> stack;  // of each rank's newest, and of the oldest that is open
};

// A rank that has not come to a collective, and what it called last on that communicator.
struct LateRank {
  int rank = 0;
  int64_t pid = 0;
  bool ended = false;  // its process
  uint64_t calls = 0;  // so many; 0: it has made the communicator only
  std::string call;    // "ncclAllReduce of 1024 elements"
  std::vector<StackFrame> stack;
};
struct CollectiveWait {
  int ranks = 0;          // of the communicator
  uint64_t sequence = 0;  // of the call that some wait in
  std::string call;
  std::vector<int> arrived, unknown;  // unknown: of no process that is watched here
  std::vector<LateRank> late;
  bool differs = false;  // `late` are all: they have called different things
};

// A thread of the program at the moment.
struct HostThread {
  int64_t tid = 0;
  std::string name, call;  // call: of the runtime, that it is in
  uint32_t runs = 0;       // enum wire::BoardThreadState: its stack is not known, or about that
  std::vector<StackFrame> stack;
};

// A side of a call that copies, fills or frees memory.
struct CallSide {
  std::string verb;  // "writes", "reads" or "frees"
  uint64_t address = 0;
  std::optional<Place> place;  // in an allocation that lives, or did
};

struct FaultReport {
  std::string kind;   // "memory fault", "queue error", "host crash", "HIP error"
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
  std::vector<Allocation> allocations;  // those that something refers to
  std::optional<Place> nearest;
  std::vector<Dispatch> in_flight;  // the oldest first
  std::optional<size_t> culprit;    // of those
  std::string how_sure;             // why it is that one
  std::vector<Dispatch> finished;   // the newest first
  std::vector<CodeObject> code_objects;
  std::string function;  // that the disassembly is of
  std::vector<DisassemblyLine> disassembly;
  std::vector<WaveGroup> waves;
  std::optional<Violation> violation;
  std::string assertion;  // the text of a failed assert()
  std::string page;       // what GPU and process have mapped at the address; "" = not known
  std::optional<CheckFinding> finding;  // where that is what is told
  std::string no_waves;                 // why there are none, or not all, and how to get them
  std::vector<QueueWait> waits;         // of a program that goes on
  std::vector<size_t> cycle;  // of those, each of which waits for the next, the last for the first
  std::vector<CollectiveWait> collectives;
  std::vector<RankCall> rank_calls;  // on the process's communicators, the newest of each rank
  std::vector<HostThread> threads;   // whose stacks have frames of the program
  size_t other_threads = 0;          // of the runtimes
  std::string no_threads;            // why they are not known
  // Of the GPUs, and of the kernels in the program's file, where none of them is for a GPU.
  std::string wrong_architecture;
  std::string no_waits;  // why it is not known what queues wait for
  // The call into HIP that failed last.
  std::string call;
  int call_code = 0;
  std::vector<StackFrame> call_stack;
  uint64_t call_bytes = 0;           // 0: it has no such argument
  std::vector<CallSide> call_sides;  // of those in buffers
  bool call_misuses_memory = false;  // one of them is freed, or too small: that is the cause
  bool call_lacks_code = false;      // it was to launch what the GPU has no code for: nothing ran
};

}  // namespace sonde::fault
