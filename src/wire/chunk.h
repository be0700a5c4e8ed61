// The chunk: a file that one thread fills with records; and the control file that all processes of
// a recording share. FORMAT.md explains both. Compiled into the traced program.
//
// Who writes what: the producer (one thread) writes everything but `state`, which it moves from
// kActive to kSealed. From there either the consumer moves it to kDrained, once everything is
// safely stored, and the producer may reuse the chunk; or the producer, which keeps only so many
// mapped, moves it to kAbandoned, and the consumer deletes it after reading it. Both moves are
// atomic exchanges. `committed` is stored last, with release order: bytes below it never change.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::wire {

constexpr uint64_t kChunkMagic = 0x4B4E4843444E4F53;    // "SONDCHNK"
constexpr uint64_t kControlMagic = 0x4C525443444E4F53;  // "SONDCTRL"
constexpr uint32_t kWireVersion = 6;
constexpr uint32_t kFirstThatCounts = 4;  // control files from this version on have `refused`

// A chunk's size is a multiple of the smallest one: a thread that fills its chunks fast gets larger
// ones, because then most of the cost of an event is making a file and its pages.
constexpr uint64_t kChunkBytes = 256 * 1024;
constexpr uint64_t kMaxChunkBytes = 16 * kChunkBytes;
constexpr uint64_t kHeaderBytes = 16 * 1024;
constexpr uint64_t kPayloadBytes = kChunkBytes - kHeaderBytes;  // of the smallest
constexpr uint64_t kMaxRecordBytes = 200 * 1024;
constexpr uint64_t kMaxTextBytes = 192 * 1024;

constexpr uint32_t kMaxOpenRanges = 240;
constexpr uint32_t kMaxOpenCalls = 240;
constexpr uint32_t kOpenTextBytes = 4352;

enum class ClockKind : uint32_t { kMonotonic = 0, kTsc = 1 };
enum class ChunkState : uint32_t { kActive = 0, kSealed = 1, kDrained = 2, kAbandoned = 3 };

// The same moment on every clock of the host: each was read between the two tick counts.
struct ClockReading {
  uint64_t ticks_before, ticks_after;
  int64_t monotonic_ns, raw_ns, realtime_ns, boottime_ns;
};

// Ranges and calls that have begun and not ended: what the thread was doing when it was killed. Two
// stacks, so that a program that forgets to end its ranges loses no calls.
enum RangeState : uint16_t {
  kRangeMuted = 1,    // begun while recording was off: never written
  kRangeIsWindow = 2  // recording is on as long as it is open (record --window)
};
struct OpenRange {
  uint64_t begin;  // ticks
  uint32_t id;     // text; 0: in the open text
  uint32_t domain, category;
  uint32_t text_length;
  uint16_t text_offset;
  uint16_t state;  // enum RangeState
  uint32_t level;  // open ranges of this domain below it
};
static_assert(sizeof(OpenRange) == 32);
struct OpenCall {
  uint64_t begin;  // ticks
  uint32_t function;
  uint32_t serial;  // among the thread's calls
};
static_assert(sizeof(OpenCall) == 16);

struct ChunkStatus {
  // Identity, written once per use of the chunk and covered by `identity_sum`; magic comes last.
  uint64_t magic;
  uint32_t version;
  uint32_t chunk_bytes;
  uint64_t spool;  // the process image, as in the folder's name
  uint32_t pid;
  uint32_t ring;      // 0 = definitions
  uint64_t sequence;  // 0, 1, 2 ... within the ring
  uint64_t file;      // number in the file's name; a reused file has a new sequence
  uint32_t tid;       // of the thread at the chunk's start
  ClockKind clock;
  ClockReading opened;
  uint64_t identity_sum;
  // Live.
  uint64_t committed;  // bytes of payload that hold whole records
  ChunkState state;
  uint32_t open_ranges, open_calls;  // valid entries of the arrays below
  uint32_t padding;
  uint64_t payload_sum;  // of the committed bytes, valid when sealed
};

// The first 16 KiB of a chunk file.
struct ChunkHeader : ChunkStatus {
  // Ring 0: ticks at the newest moment when the process was seen to run though it recorded nothing:
  // its end, or an event that found no room. 0: none.
  uint64_t alive;
  uint64_t reserved[45];
  OpenRange ranges[kMaxOpenRanges];
  OpenCall calls[kMaxOpenCalls];
  char open_text[kOpenTextBytes];
};
static_assert(sizeof(ChunkStatus) + sizeof(uint64_t) + sizeof(ChunkHeader::reserved) == 512);
static_assert(sizeof(ChunkHeader) == kHeaderBytes);

inline uint64_t payload_bytes(const ChunkStatus& chunk) { return chunk.chunk_bytes - kHeaderBytes; }

// Why events are lost. kNoSpace to kSystem: the error when a chunk was to be made.
enum class DropReason : uint32_t {
  kBufferLimit,
  kNoSpace,
  kQuota,
  kProcessFiles,
  kSystemFiles,
  kDenied,
  kReadOnly,
  kFileSize,
  kMemory,
  kDeleted,
  kDiskError,
  kSystem,
  kClosed,
  kOrphaned,
  kReentrant,
  kTooDeep,
  kBusy,
  kTableFull,
  kNoThreadState
};
constexpr uint32_t kDropReasons = 19;
constexpr const char* kDropReasonNames[kDropReasons] = {
    "buffer limit",
    "no space for the spool (ENOSPC)",
    "disk quota used up (EDQUOT)",
    "too many open files in the process (EMFILE)",
    "too many open files on the machine (ENFILE)",
    "spool not accessible to the process (EACCES)",
    "spool on a read-only file system (EROFS)",
    "limit on file sizes reached (EFBIG)",
    "no memory (ENOMEM)",
    "session directory not found (ENOENT)",
    "error of the spool's disk (EIO)",
    "spool cannot be written",
    "recording had ended",
    "recorder gone and its space used up",
    "inside a signal handler",
    "nested too deep",
    "definition table busy",
    "definition table full",
    "by a thread that shares another's storage"};

enum class DropSource : uint32_t {
  kCall,
  kRange,
  kMark,
  kCounter,
  kOp,
  kDefinition,
  kOther,
  kSample
};
constexpr uint32_t kDropSources = 8;
constexpr const char* kDropSourceNames[kDropSources] = {
    "api calls", "ranges", "marks", "counters", "ops", "definitions", "other", "samples"};

// A spool's folder is called p<PID>-<SPOOL, hex>, followed by this suffix if the pid means nothing
// to the recorder.
constexpr char kOtherNamespaceSuffix[] = "-f";

// <session>/control, mapped by the recorder and by every traced process. Its first five fields are
// the same in every version from 4 on.
//
// The reader of the session (the recorder, then `sonde recover`) holds an open file description
// lock on the file. Only the end of its process releases it: not being stopped, suspended or slow.
// SessionControl::recording. kAsProcess: each process has a switch of its own, too (sonde_start).
enum Switch : uint32_t { kOff = 0, kAsProcess = 1, kOn = 2 };
enum class Asked : uint32_t { kNothing = 0, kOff = 1, kOn = 2 };

struct SessionControl {
  uint64_t magic;
  uint32_t version;
  uint32_t control_bytes;
  uint32_t refused;  // processes with an agent of another version: not recorded
  ClockKind clock;
  uint32_t autostart;        // 0: processes wait for sonde_start()
  uint32_t recording;        // enum Switch: session-wide
  uint32_t closed;           // the recorder has finished: make no new chunks
  uint32_t orphaned;         // a process found no reader: the limit was lowered
  uint64_t limit_bytes;      // of all chunks together: the limit
  uint64_t allocated_bytes;  // of all chunks together: the current size
  uint64_t orphan_bytes;     // how much may be added once the session is orphaned
  uint64_t drops[kDropSources][kDropReasons];
  uint64_t id;              // of the session, wherever its folder is moved
  uint64_t pid_namespace;   // the recorder's; 0: unknown
  uint32_t system_error;    // errno behind kSystem
  uint32_t sample_hz;       // how often each thread is sampled per second of CPU time; 0: not
  uint32_t sample_blocked;  // 1: blocked threads are sampled, too
  uint32_t launch_stacks;   // 1: calls that launch work take their stack
  uint32_t asked;           // enum Asked: written by others than the recorder
  uint32_t obeyed;          // the last `asked` that the recorder obeyed
  uint32_t cut_asked;       // one more per request to end the current part (sonde snapshot)
  uint32_t cut_done;        // parts that ended up to this request are complete
  // Counts changes of `recording` and of processes' switches: waiters sleep on it.
  uint32_t changes;
  uint32_t padding;
  uint64_t boot[2];    // the recorder's boot of its machine, whose clocks these are; 0: unknown
  int64_t watched_ns;  // CLOCK_MONOTONIC: processes whose end is not in the .rpd ran until then
  uint64_t reserved[2];
};

constexpr uint64_t kChecksumPrime = 0x100000001B3;

inline uint64_t checksum_step(uint64_t lane, uint64_t word) {
  lane = (lane ^ word) * kChecksumPrime;
  // In a general register: SSE2 lacks this multiplication, and compilers emulate it with a dozen
  // instructions.
  asm("" : "+r"(lane));
  return lane ^ (lane >> 29);
}

// FNV-1a over 64-bit words in four independent lanes: fast without special instructions, catches
// flipped bits and torn files. `bytes` is a multiple of 8.
inline uint64_t checksum(const void* data, uint64_t bytes) {
  const auto* word = static_cast<const uint64_t*>(data);
  uint64_t left = bytes / 8;
  uint64_t a = 0xCBF29CE484222325, b = 0x84222325CBF29CE4, c = 0x9E3779B97F4A7C15, d = ~bytes;
  for (; left >= 4; left -= 4, word += 4) {
    a = checksum_step(a, word[0]);
    b = checksum_step(b, word[1]);
    c = checksum_step(c, word[2]);
    d = checksum_step(d, word[3]);
  }
  for (; left > 0; --left, ++word) a = ((a ^ *word) * kChecksumPrime) ^ (a >> 29);
  uint64_t sum = 0;
  const uint64_t lanes[] = {a, b, c, d};
  for (const uint64_t lane : lanes) sum = (sum ^ lane) * kChecksumPrime;
  return sum ^ (sum >> 32);
}

inline uint64_t identity_checksum(const ChunkStatus& header) {
  const uint64_t* from = reinterpret_cast<const uint64_t*>(&header.version);
  return checksum(from, offsetof(ChunkStatus, identity_sum) - offsetof(ChunkStatus, version));
}

}  // namespace sonde::wire
