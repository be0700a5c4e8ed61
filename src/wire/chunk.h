// The chunk: a file that one thread fills with records, and the control file that all
// processes of a recording share. FORMAT.md explains both. Compiled into the traced program.
//
// Who writes what: the producer (one thread) writes everything but `state`, which it moves from
// kActive to kSealed; then the consumer moves it to kDrained once everything is safe elsewhere, and
// the producer may start over with the chunk; or the producer, who keeps only so many mapped, moves
// it to kAbandoned, and the consumer deletes it when it has read it. Both moves are atomic.
// `committed` is stored last, with release order: bytes below it never change.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::wire {

constexpr uint64_t kChunkMagic = 0x4B4E4843444E4F53;    // "SONDCHNK"
constexpr uint64_t kControlMagic = 0x4C525443444E4F53;  // "SONDCTRL"
constexpr uint32_t kWireVersion = 3;

// A chunk's size is a multiple of the smallest one: a thread that fills its chunks fast gets larger
// ones, because making a file and its pages is most of what an event costs then.
constexpr uint64_t kChunkBytes = 256 * 1024;
constexpr uint64_t kMaxChunkBytes = 16 * kChunkBytes;
constexpr uint64_t kHeaderBytes = 16 * 1024;
constexpr uint64_t kPayloadBytes = kChunkBytes - kHeaderBytes;  // of the smallest
constexpr uint64_t kMaxRecordBytes = 200 * 1024;
constexpr uint64_t kMaxTextBytes = 192 * 1024;

constexpr uint32_t kMaxOpen = 240;
constexpr uint32_t kOpenTextBytes = 8192;

enum class ClockKind : uint32_t { kMonotonic = 0, kTsc = 1 };
enum class ChunkState : uint32_t { kActive = 0, kSealed = 1, kDrained = 2, kAbandoned = 3 };

// The same moment on every clock of the host: each was read between the two tick counts.
struct ClockReading {
  uint64_t ticks_before, ticks_after;
  int64_t monotonic_ns, raw_ns, realtime_ns, boottime_ns;
};

// A range or call that has begun and not ended: what the thread was doing when it was killed.
struct OpenSpan {
  uint64_t begin;  // ticks
  uint32_t id;     // text of a range (0: in the open text), function of a call
  uint32_t domain, category;
  uint32_t text_length;
  uint16_t text_offset;
  uint8_t is_call;
  uint8_t muted;   // begun while recording was off: never written
  uint32_t level;  // ranges of this domain below it
};
static_assert(sizeof(OpenSpan) == 32);

struct ChunkStatus {
  // Identity, written once per use of the chunk and covered by `identity_sum`; magic comes last.
  uint64_t magic;
  uint32_t version;
  uint32_t chunk_bytes;
  uint64_t spool;  // the process image, as in the folder's name
  uint32_t pid;
  uint32_t ring;      // 0 = definitions
  uint64_t sequence;  // 0, 1, 2 ... within the ring
  uint64_t file;      // number in the file's name; a file used again has a new sequence
  uint32_t tid;       // of the thread at the chunk's start
  ClockKind clock;
  ClockReading opened;
  uint64_t identity_sum;
  // Live.
  uint64_t committed;  // bytes of payload that hold whole records
  ChunkState state;
  uint32_t open_count;
  uint64_t payload_sum;  // of the committed bytes, valid when sealed
};

// The first 16 KiB of a chunk file.
struct ChunkHeader : ChunkStatus {
  uint64_t reserved[47];
  OpenSpan open[kMaxOpen];
  char open_text[kOpenTextBytes];
};
static_assert(sizeof(ChunkStatus) + sizeof(ChunkHeader::reserved) == 512);
static_assert(sizeof(ChunkHeader) == kHeaderBytes);

inline uint64_t payload_bytes(const ChunkStatus& chunk) { return chunk.chunk_bytes - kHeaderBytes; }

enum class DropReason : uint32_t {
  kBufferLimit,
  kDiskFull,
  kReentrant,
  kTooDeep,
  kBusy,
  kNoThreadState
};
constexpr uint32_t kDropReasons = 6;
constexpr const char* kDropReasonNames[kDropReasons] = {
    "buffer limit", "no space for the spool", "inside a signal handler", "nested too deep",
    "definition table busy or full", "by a thread that shares another's storage"};

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

// A spool's folder is called p<PID>-<SPOOL, hex>, and this is behind it where the pid means nothing
// to the recorder.
constexpr char kForeignSuffix[] = "-f";

// <session>/control, mapped by the recorder and by every traced process.
struct SessionControl {
  uint64_t magic;
  uint32_t version;
  uint32_t control_bytes;
  ClockKind clock;
  uint32_t autostart;        // 0: processes wait for sonde_start()
  uint32_t recording;        // session-wide switch
  uint32_t closed;           // the recorder is gone for good: make no new chunks
  uint64_t limit_bytes;      // of all chunks together; at most
  uint64_t allocated_bytes;  // of all chunks together; now
  uint64_t drops[kDropSources][kDropReasons];
  uint64_t id;              // of the session, in any place it is moved to
  uint64_t pid_namespace;   // the recorder's; 0: not known
  uint32_t sample_hz;       // how often each thread is sampled per second of CPU time; 0: not
  uint32_t sample_blocked;  // 1: blocked threads are looked at as well
  uint32_t launch_stacks;   // 1: calls that launch work take their stack
  uint32_t padding;
  uint64_t reserved[7];
};

// FNV-1a over 64-bit words in four independent lanes: fast without special instructions, catches
// flipped bits and torn files. `bytes` is a multiple of 8.
inline uint64_t checksum(const void* data, uint64_t bytes) {
  constexpr uint64_t kPrime = 0x100000001B3;
  const auto* word = static_cast<const uint64_t*>(data);
  uint64_t left = bytes / 8;
  uint64_t lane[4] = {0xCBF29CE484222325, 0x84222325CBF29CE4, 0x9E3779B97F4A7C15, ~bytes};
  for (; left >= 4; left -= 4, word += 4) {
    for (int k = 0; k < 4; ++k) {
      lane[k] = (lane[k] ^ word[k]) * kPrime;
      lane[k] ^= lane[k] >> 29;
    }
  }
  for (; left > 0; --left, ++word) lane[0] = ((lane[0] ^ *word) * kPrime) ^ (lane[0] >> 29);
  uint64_t sum = 0;
  for (const uint64_t value : lane) sum = (sum ^ value) * kPrime;
  return sum ^ (sum >> 32);
}

inline uint64_t identity_checksum(const ChunkStatus& header) {
  const uint64_t* from = reinterpret_cast<const uint64_t*>(&header.version);
  return checksum(from, offsetof(ChunkStatus, identity_sum) - offsetof(ChunkStatus, version));
}

}  // namespace sonde::wire
