#include "wire/decoder.h"

#include <cstring>

#include "wire/pack.h"

namespace sonde::wire {

namespace {

// The least bytes that a record of this type and flags has; 0: not a type that can stand alone.
uint64_t fixed_bytes(const RecordHeader& header) {
  const uint64_t domain = (header.flags & kHasDomain) != 0 ? 8 : 0;
  switch (header.type) {
    case RecordType::kCall:
      return sizeof(SpanRecord) + ((header.flags & kHasCorrelation) != 0 ? 8 : 0) +
             ((header.flags & kHasResult) != 0 ? 8 : 0);
    case RecordType::kRange:
      return sizeof(SpanRecord) + domain;
    case RecordType::kMark:
    case RecordType::kRangeStart:
    case RecordType::kRangeStop:
    case RecordType::kCounter:
    case RecordType::kDropped:
      return sizeof(MomentRecord) + domain;
    case RecordType::kOp:
      return sizeof(OpRecord);
    case RecordType::kPackedCall:
    case RecordType::kPackedOp:
      return sizeof(RecordHeader);
    case RecordType::kThread:
    case RecordType::kNote:
    case RecordType::kDiagnostic:
      return sizeof(EventRecord);
    case RecordType::kSnapshot:
      return sizeof(SnapshotRecord);
    case RecordType::kProcess:
      return sizeof(ProcessRecord);
    case RecordType::kString:
      return sizeof(StringRecord);
    case RecordType::kFunction:
      return sizeof(FunctionRecord);
    case RecordType::kClock:
      return sizeof(ClockRecord);
    case RecordType::kDevice:
      return sizeof(DeviceRecord);
    case RecordType::kQueue:
      return sizeof(QueueRecord);
    case RecordType::kSample:
      return sizeof(SampleRecord);
    case RecordType::kBlocked:
      return sizeof(BlockedRecord);
    case RecordType::kLaunchStack:
      return sizeof(LaunchStackRecord);
    case RecordType::kCopyRequest:
      return sizeof(CopyRequestRecord);
    case RecordType::kOpCounter:
      return sizeof(OpCounterRecord);
    case RecordType::kModule:
      return sizeof(ModuleRecord);
    case RecordType::kCode:
      return sizeof(CodeRecord);
    case RecordType::kArguments:
    case RecordType::kText:
    case RecordType::kNone:
      return 0;
  }
  return 0;
}

// How many bytes of text, packed frames or values a record itself claims to carry; nullopt if its
// type carries none.
std::optional<uint64_t> own_text_bytes(const Record& record) {
  switch (record.type()) {
    case RecordType::kString:
      return record.as<StringRecord>().length;
    case RecordType::kProcess:
      return record.as<ProcessRecord>().text_bytes;
    case RecordType::kSample:
      return record.as<SampleRecord>().frame_bytes;
    case RecordType::kBlocked:
      return record.as<BlockedRecord>().frame_bytes;
    case RecordType::kLaunchStack:
      return record.as<LaunchStackRecord>().frame_bytes;
    case RecordType::kOpCounter:
      return record.as<OpCounterRecord>().values * sizeof(CounterValue);
    case RecordType::kModule:
      return record.as<ModuleRecord>().text_bytes;
    case RecordType::kCode:
      return record.as<CodeRecord>().text_bytes;
    default:
      return std::nullopt;
  }
}

// The text a record carries after its `fixed` bytes; false if it does not fit.
bool own_text(Record& record, uint64_t fixed, uint64_t bytes) {
  const auto length = own_text_bytes(record);
  if (!length) return true;
  if (*length > bytes - fixed) return false;
  record.text = {reinterpret_cast<const char*>(record.header) + fixed, *length};
  record.has_text = true;
  return true;
}

}  // namespace

Decoder::Decoder(std::span<const std::byte> payload)
    : words_(reinterpret_cast<const uint64_t*>(payload.data()), payload.size() / 8) {}

const RecordHeader* Decoder::peek() const {
  if (offset_ >= words_.size()) return nullptr;
  const auto* header = reinterpret_cast<const RecordHeader*>(&words_[offset_]);
  if (header->words == 0 || header->words > words_.size() - offset_) return nullptr;
  return header;
}

// Expands a packed record; false if its bytes are malformed.
bool Decoder::unpack(Record& record) {
  const RecordHeader packed = *record.header;
  const bool is_call = packed.type == RecordType::kPackedCall;
  const uint64_t count = packed.flags;
  if (is_call ? count < kCallValues || count > kCallValues + kMostArguments : count != kOpValues) {
    return false;
  }
  Unpacker values(reinterpret_cast<const char*>(record.header + 1),
                  (uint64_t{packed.words} - 1) * 8, count);
  for (uint64_t i = 0; i < count; ++i) unpacked_[1 + i] = values.next();
  RecordHeader header = {RecordType::kOp, 0, sizeof(OpRecord) / 8, packed.id};
  if (is_call) {
    uint64_t& correlation = unpacked_[3];
    const uint64_t result = unpacked_[4];
    unpacked_[2] += unpacked_[1];  // end was stored as end - begin
    header = {RecordType::kCall, 0, sizeof(SpanRecord) / 8, packed.id};
    if (result != 0) header.flags |= kHasResult;
    if (correlation != 0) {
      header.flags |= kHasCorrelation;
    } else {
      correlation = result;  // only nonzero words are stored, in this order
    }
    record.arguments = std::span(unpacked_).subspan(1 + kCallValues, count - kCallValues);
  }
  std::memcpy(unpacked_.data(), &header, sizeof header);
  record.header = reinterpret_cast<const RecordHeader*>(unpacked_.data());
  return values.good();
}

std::optional<Record> Decoder::next() {
  if (malformed_ || offset_ >= words_.size()) return std::nullopt;
  Record record;
  record.header = peek();
  const uint64_t need = record.header != nullptr ? fixed_bytes(*record.header) : 0;
  const uint64_t have = record.header != nullptr ? uint64_t{record.header->words} * 8 : 0;
  if (need == 0 || have < need || !own_text(record, need, have)) {
    malformed_ = true;
    return std::nullopt;
  }
  offset_ += record.header->words;
  const bool packed =
      record.type() == RecordType::kPackedCall || record.type() == RecordType::kPackedOp;
  if (packed && !unpack(record)) {
    malformed_ = true;
    return std::nullopt;
  }
  while (const RecordHeader* more = peek()) {
    const uint64_t bytes = (uint64_t{more->words} - 1) * 8;
    if (more->type == RecordType::kText) {
      if (more->id > bytes) break;
      record.text = {reinterpret_cast<const char*>(more + 1), more->id};
      record.has_text = true;
    } else if (more->type == RecordType::kArguments) {
      record.arguments = {reinterpret_cast<const uint64_t*>(more + 1), bytes / 8};
    } else {
      break;
    }
    offset_ += more->words;
  }
  return record;
}

HeaderVerdict judge_header(const ChunkStatus& header) {
  if (header.magic == 0) return HeaderVerdict::kUnfinished;
  if (header.magic != kChunkMagic || header.version != kWireVersion ||
      header.chunk_bytes < kChunkBytes || header.chunk_bytes > kMaxChunkBytes ||
      header.chunk_bytes % kChunkBytes != 0) {
    return HeaderVerdict::kOtherRing;
  }
  if (header.identity_sum != identity_checksum(header) ||
      header.committed > payload_bytes(header) || header.committed % 8 != 0) {
    return HeaderVerdict::kDamaged;
  }
  return HeaderVerdict::kGood;
}

}  // namespace sonde::wire
