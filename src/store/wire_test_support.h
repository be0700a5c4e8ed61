// Chunks and records written by hand, word by word, for tests: shares no code with the agent.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "store/ingest/ingest.h"
#include "wire/decoder.h"

namespace sonde::store::testing {

using Words = std::vector<uint64_t>;

inline Words record(wire::RecordType type, uint32_t id, uint8_t flags, const Words& rest) {
  Words words = {static_cast<uint64_t>(type) | uint64_t{flags} << 8 |
                 uint64_t{rest.size() + 1} << 16 | uint64_t{id} << 32};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The bytes of a text as words, padded with zeros.
inline Words packed(std::string_view text) {
  Words words((text.size() + 7) / 8);
  if (!text.empty()) std::memcpy(words.data(), text.data(), text.size());
  return words;
}

inline Words text(std::string_view content) {
  return record(wire::RecordType::kText, static_cast<uint32_t>(content.size()), 0, packed(content));
}

inline uint64_t pair(uint64_t low, uint64_t high) { return low | high << 32; }

inline Words string(uint32_t id, std::string_view content) {
  return record(wire::RecordType::kString, id, 0, Words{0, content.size()} + packed(content));
}

inline Words function(uint32_t id, uint32_t domain, uint32_t category, uint32_t name,
                      uint32_t arguments) {
  return record(wire::RecordType::kFunction, id, 0,
                {pair(domain, category), pair(name, arguments)});
}

// `content`: "executable\0directory\0argument\0..."
inline Words process(uint32_t parent, uint64_t start, std::string_view content) {
  return record(wire::RecordType::kProcess, 0, 0,
                Words{pair(parent, content.size()), start, 0} + packed(content));
}

inline Words clock(uint32_t id, uint32_t name) {
  return record(wire::RecordType::kClock, id, 0, {name});
}

inline Words device(uint32_t id, uint32_t gpu, uint32_t backend, uint32_t name, uint32_t location) {
  return record(
      wire::RecordType::kDevice, id, 0,
      {pair(gpu, 0), pair(backend, name), pair(0, 0), pair(0, location), 1 << 30, pair(16, 1200)});
}

inline Words queue(uint32_t id, uint32_t device, uint64_t handle, uint32_t flags = 0) {
  return record(wire::RecordType::kQueue, id, 0, {pair(device, flags), handle, 0xc0});
}

inline Words call(uint32_t function, uint64_t begin, uint64_t end, uint64_t correlation = 0,
                  int64_t result = 0, const Words& arguments = {}) {
  Words rest = {begin, end};
  if (correlation != 0) rest.push_back(correlation);
  if (result != 0) rest.push_back(static_cast<uint64_t>(result));
  Words words = record(wire::RecordType::kCall, function,
                       static_cast<uint8_t>((correlation != 0 ? wire::kHasCorrelation : 0) |
                                            (result != 0 ? wire::kHasResult : 0)),
                       rest);
  if (arguments.empty()) return words;
  return words + record(wire::RecordType::kArguments, static_cast<uint32_t>(arguments.size()), 0,
                        arguments);
}

inline Words range(uint32_t id, uint64_t begin, uint64_t end) {
  return record(wire::RecordType::kRange, id, 0, {begin, end});
}

inline Words mark(uint32_t id, uint64_t ticks) {
  return record(wire::RecordType::kMark, id, 0, {ticks, 0});
}

inline Words range_start(uint32_t id, uint64_t ticks, uint64_t range) {
  return record(wire::RecordType::kRangeStart, id, 0, {ticks, range});
}

inline Words range_stop(uint64_t ticks, uint64_t range) {
  return record(wire::RecordType::kRangeStop, 0, 0, {ticks, range});
}

inline Words counter(uint32_t name, uint64_t ticks, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return record(wire::RecordType::kCounter, name, 0, {ticks, bits});
}

inline Words thread(uint32_t tid, uint64_t ticks, std::string_view name, bool other = false) {
  return record(wire::RecordType::kThread, tid, other ? 1 : 0, {ticks}) + text(name);
}

inline Words snapshot(uint32_t clock, uint64_t value, uint64_t before, uint64_t after) {
  return record(wire::RecordType::kSnapshot, clock, 0, {value, before, after});
}

struct Op {
  uint32_t kind = 1, queue = 0, clock = 1;
  int32_t status = 0;
  uint64_t correlation = 0, queued = 0, submitted = 0, start = 1, end = 2, bytes = 0;
  uint64_t grid[3] = {0, 0, 0};
  uint32_t group[3] = {0, 0, 0};
  uint32_t flags = 0;
  uint64_t src = 0, dst = 0, stream = 0;
  int16_t src_device = 0, dst_device = 0;
};

inline Words op(uint32_t name, const Op& o) {
  return record(wire::RecordType::kOp, name, 0,
                {pair(o.kind, o.queue),
                 pair(o.clock, static_cast<uint32_t>(o.status)),
                 o.correlation,
                 o.queued,
                 o.submitted,
                 o.start,
                 o.end,
                 o.bytes,
                 o.grid[0],
                 o.grid[1],
                 o.grid[2],
                 pair(o.group[0], o.group[1]),
                 pair(o.group[2], o.flags),
                 o.src,
                 o.dst,
                 0,
                 0,
                 0,
                 pair(64, 8),
                 o.stream,
                 pair(static_cast<uint16_t>(o.src_device) |
                          uint32_t{static_cast<uint16_t>(o.dst_device)} << 16,
                      0)});
}

// What a call asked to be copied.
inline Words copy_request(const Op& o) {
  return record(wire::RecordType::kCopyRequest, 0, 0,
                {o.correlation, pair(o.kind, o.flags), o.bytes, o.src, o.dst, 0, 0, 0, o.stream,
                 pair(static_cast<uint16_t>(o.src_device) |
                          uint32_t{static_cast<uint16_t>(o.dst_device)} << 16,
                      0)});
}

// A hardware counter of the op before it: values of engines 0, 1 ...
inline Words op_counter(uint32_t name, uint32_t queue, uint64_t start, uint16_t pass,
                        const Words& values) {
  Words words = {start, uint64_t{queue} | uint64_t{pass} << 32 | uint64_t{values.size()} << 48};
  for (size_t i = 0; i < values.size(); ++i) {
    words.push_back(uint64_t{i} << 16 | uint64_t{9} << 32);
    words.push_back(values[i]);
  }
  return record(wire::RecordType::kOpCounter, name, 0, words);
}

// One ring of a process, and feeding its records to an Ingest as the recorder would.
inline wire::ChunkHeader ring(uint64_t spool, uint32_t pid, uint32_t index, uint32_t tid = 0,
                              uint64_t sequence = 0) {
  wire::ChunkHeader header{};
  header.spool = spool;
  header.pid = pid;
  header.ring = index;
  header.tid = tid;
  header.sequence = sequence;
  return header;
}

// False where the records are malformed.
inline bool feed(Ingest& ingest, const wire::ChunkHeader& header, const Words& words) {
  wire::Decoder decoder(std::as_bytes(std::span(words)));
  while (const auto next = decoder.next()) {
    header.ring == 0 ? ingest.definition(header, *next) : ingest.event(header, *next);
  }
  return !decoder.malformed();
}

}  // namespace sonde::store::testing
