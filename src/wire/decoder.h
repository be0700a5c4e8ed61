// Decoder: walks the records of a chunk's payload, and judges a chunk's header. Safe on any bytes:
// the first malformed record ends the walk and is reported.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wire/chunk.h"
#include "wire/records.h"

namespace sonde::wire {

// A record with its continuations. Points into the payload or, for a packed record, into the
// decoder, until the next one is decoded.
struct Record {
  const RecordHeader* header = nullptr;
  std::string_view text;  // of the kText that follows, or of the record itself
  bool has_text = false;
  std::span<const uint64_t> arguments;  // of a kArguments that follows

  RecordType type() const { return header->type; }
  template <typename T>
  const T& as() const {
    return *reinterpret_cast<const T*>(header);
  }
  // The word after the fixed part of T: correlation, result, domain.
  template <typename T>
  uint64_t extra(int index) const {
    return reinterpret_cast<const uint64_t*>(&as<T>() + 1)[index];
  }
};

class Decoder {
 public:
  // `payload` is 8-byte aligned; only whole words are read.
  explicit Decoder(std::span<const std::byte> payload);

  // The next record, or nullopt at the end or at the first malformed one.
  std::optional<Record> next();
  bool malformed() const { return malformed_; }
  uint64_t offset() const { return offset_ * 8; }  // consumed

 private:
  const RecordHeader* peek() const;
  bool unpack(Record& record);
  std::span<const uint64_t> words_;
  uint64_t offset_ = 0;  // in words
  // A packed record, expanded: header, begin, end, correlation, result and arguments of a call, or
  // an operation.
  std::array<uint64_t, 1 + kCallValues + kMostArguments> unpacked_{};
  bool malformed_ = false;
};

enum class HeaderVerdict { kGood, kUnfinished, kOtherRing, kDamaged };
// kUnfinished: no magic yet (the producer is writing the header, or was killed doing so).
HeaderVerdict judge_header(const ChunkStatus& header);

}  // namespace sonde::wire
