// The records of a spool: what the agent writes and the decoder reads. FORMAT.md explains them.
//
// A record is a multiple of 8 bytes and starts with a RecordHeader. Plain structs, no pointers,
// host byte order (a spool never leaves its machine). Compiled into the traced program: libc only.
#pragma once

#include <stdint.h>

namespace sonde::wire {

enum class RecordType : uint8_t {
  kNone = 0,
  // Events, in the ring of the thread that saw them.
  kCall = 1,
  kRange = 2,
  kMark = 3,
  kRangeStart = 4,
  kRangeStop = 5,
  kCounter = 6,
  kOp = 7,
  kThread = 8,
  kSnapshot = 9,
  kNote = 10,
  kDiagnostic = 11,
  kDropped = 12,
  kPackedCall = 13,
  kPackedOp = 14,
  kSample = 15,
  kBlocked = 18,
  kLaunchStack = 19,
  kCopyRequest = 20,
  kOpCounter = 21,
  // Continuations: belong to the record before them, always in the same chunk.
  kArguments = 16,
  kText = 17,
  // Definitions, in ring 0.
  kProcess = 32,
  kString = 33,
  kFunction = 34,
  kClock = 35,
  kDevice = 36,
  kQueue = 37,
  kModule = 38,
  kCode = 39,
};

struct RecordHeader {
  RecordType type;
  uint8_t flags;
  uint16_t words;  // of 8 bytes, this header included
  uint32_t id;     // its meaning depends on the type
};
static_assert(sizeof(RecordHeader) == 8);

// RecordHeader::flags
constexpr uint8_t kHasCorrelation = 1;  // kCall: a correlation word follows
constexpr uint8_t kHasResult = 2;       // kCall: a result word follows (it was not 0)
constexpr uint8_t kHasDomain = 4;       // markers: a domain/category word follows
constexpr uint8_t kOtherThread = 1;     // kThread: names a thread that is not this ring's
// kThread: named by the program, which takes precedence over the system's names.
constexpr uint8_t kNamedByProgram = 2;
constexpr uint8_t kRenamed = 4;  // kThread: a new name of the same thread

// kCall: header.id = function. kRange: header.id = text (0: the kText that follows).
struct SpanRecord {
  RecordHeader header;
  uint64_t begin, end;  // ticks
  // kCall: [correlation] [result]; kRange: [domain | category << 32]
};

// kMark: header.id = text. kRangeStart and kRangeStop: `value` is the range. kCounter: header.id =
// name, `value` the bits of a double. kDropped: header.id = source, `value` the count.
struct MomentRecord {
  RecordHeader header;
  uint64_t ticks;
  uint64_t value;
  // kMark, kRangeStart: [domain | category << 32]
};

// header.id = kernel name. Same fields as struct sonde_op of backend.h.
struct OpRecord {
  RecordHeader header;
  uint32_t kind, queue, clock;
  int32_t status;
  uint64_t correlation;
  uint64_t queued, submitted, start, end;
  uint64_t bytes;
  uint64_t grid[3];
  uint32_t group[3];
  uint32_t flags;
  uint64_t src, dst;
  uint64_t size[3];
  uint32_t group_segment_bytes, private_segment_bytes;
  uint64_t stream;
  int16_t src_device, dst_device;
  uint32_t reserved;
};
static_assert(sizeof(OpRecord) % 8 == 0);

// Calls and operations as the agent writes them; the decoder shows them as kCall with kArguments,
// and as kOp. header.flags = number of values, which follow packed (pack.h).
//   kPackedCall: header.id = function; begin, end - begin, correlation, result, the arguments
//   kPackedOp: header.id = kernel name; the words of OpRecord after the header
constexpr uint64_t kCallValues = 4, kMostArguments = 96;
constexpr uint64_t kOpValues = (sizeof(OpRecord) - sizeof(RecordHeader)) / 8;

// kThread: header.id = tid; the ring belongs to this thread from here on, unless flags say that the
// record names another thread; the name follows as kText. kDiagnostic: header.id = source, flags =
// severity; kNote: header.id = key; in both, kText follows.
struct EventRecord {
  RecordHeader header;
  uint64_t ticks;
};

// header.id = clock: it showed `value` between the ticks `before` and `after`.
struct SnapshotRecord {
  RecordHeader header;
  uint64_t value, before, after;
};

// What a call asked to be copied: the fields of struct sonde_copy_request of backend.h. The call's
// record comes later in the ring.
struct CopyRequestRecord {
  RecordHeader header;
  uint64_t correlation;
  uint32_t kind, flags;
  uint64_t bytes;
  uint64_t src, dst;
  uint64_t size[3];
  uint64_t stream;
  int16_t src_device, dst_device;
  uint32_t reserved;
};
static_assert(sizeof(CopyRequestRecord) % 8 == 0);

// header.id = name of a hardware counter of the operation that was written last in this ring.
// CounterValues follow. Queue and start are the operation's, so that a reader can check that it is
// there.
struct OpCounterRecord {
  RecordHeader header;
  uint64_t start;
  uint32_t queue;
  uint16_t pass, values;
};
// The value in one part of the device: engine and instance of the block, in the runtime's
// numbering.
struct CounterValue {
  uint16_t xcc, engine;
  uint32_t instance;
  uint64_t value;
};
static_assert(sizeof(CounterValue) == 16);

// Stacks: header.id = number of frames, header.flags as below. The frames follow, innermost first,
// packed: each is two LEB128 numbers, `module << 1` and an offset from the module's bias (module 0:
// an address), or `code << 1 | 1` and an offset into Python's byte code.
//
// kSample: what the thread was executing.
struct SampleRecord {
  RecordHeader header;
  uint64_t ticks;
  uint64_t cpu_ns;   // CPU time of the thread since its last sample
  uint32_t missed;   // samples that were due since then and not taken
  uint32_t cost_ns;  // CPU time that the thread's last sample took
  uint64_t frame_bytes;
};
// The stack of a blocked thread other than the ring's.
struct BlockedRecord {
  RecordHeader header;
  uint64_t ticks;
  uint64_t wall_ns;  // how long
  uint32_t tid, frame_bytes;
};
// kLaunchStack: where a call that launches work was made; its record comes later in the ring.
struct LaunchStackRecord {
  RecordHeader header;
  uint64_t ticks;
  uint64_t correlation;
  uint64_t frame_bytes;
};
constexpr uint8_t kStackTruncated = 1;  // the outermost frames are missing: no way to unwind
constexpr uint8_t kStackTooDeep = 2;    // the outermost frames are missing: too many
constexpr uint8_t kByTimer = 4;         // kSample: due by a CPU-time timer, not by a perf event
constexpr uint32_t kMaxFrames = 256;

// kText: header.id = length in bytes; kArguments: header.id = number of words. Data follows.
struct ContinuationRecord {
  RecordHeader header;
};

// header.id = string id. Text follows, with a terminating 0.
struct StringRecord {
  RecordHeader header;
  uint64_t hash;
  uint64_t length;
  const char* text() const { return reinterpret_cast<const char*>(this + 1); }
  char* text() { return reinterpret_cast<char*>(this + 1); }
};

// header.id = function id; the others are string ids.
struct FunctionRecord {
  RecordHeader header;
  uint32_t domain, category, name, arguments;
};

// header.id = clock id.
struct ClockRecord {
  RecordHeader header;
  uint32_t name, reserved;
};

// header.id = device id; texts are string ids.
struct DeviceRecord {
  RecordHeader header;
  uint32_t gpu_id, clock;
  uint32_t backend, name, vendor, driver, kind, location;
  uint64_t memory_bytes;
  uint32_t compute_units, clock_mhz;
};

// header.id = queue id.
struct QueueRecord {
  RecordHeader header;
  uint32_t device, flags;
  uint64_t handle, context;
};

// A mapped executable file. header.id = module id. Text follows: `build_id_bytes` bytes of build
// id, then the path.
struct ModuleRecord {
  RecordHeader header;
  uint64_t bias;        // subtracting it from an address gives the address in the file
  uint64_t start, end;  // where it is mapped
  uint32_t build_id_bytes;
  uint32_t text_bytes;
};

// A code object of Python. header.id = code id. Text follows: file and qualified name, each
// terminated by a 0 byte, then the line table in the format of that Python version.
struct CodeRecord {
  RecordHeader header;
  uint32_t first_line;
  uint32_t version;     // of Python, 0x30b for 3.11
  uint32_t name_bytes;  // file and name with their 0 bytes
  uint32_t text_bytes;
};

// header.id = pid. Text follows: executable, directory and the arguments, each terminated by a 0
// byte.
struct ProcessRecord {
  RecordHeader header;
  uint32_t parent_pid;
  uint32_t text_bytes;
  uint64_t start_ticks;
  uint64_t forked;  // 1: made by fork, 0: by exec
};

// The most definitions of a process. The agent makes no more, which bounds the memory that a reader
// needs for them.
constexpr uint32_t kMostDefinitions = 1 << 22;

// Names for rocpd_op.opType, indexed by enum sonde_op_kind of backend.h. The first ones are RPD's.
constexpr const char* kOpTypeNames[] = {"Other",
                                        "KernelExecution",
                                        "CopyHostToDevice",
                                        "CopyDeviceToHost",
                                        "CopyDeviceToDevice",
                                        "CopyHostToHost",
                                        "FillBuffer",
                                        "MapBuffer",
                                        "UnmapBuffer",
                                        "Barrier",
                                        "MigrateMemory",
                                        "NativeKernel",
                                        "Task"};

constexpr uint64_t words_for(uint64_t bytes) { return (bytes + 7) / 8; }

}  // namespace sonde::wire
