// Recording: the event functions of struct sonde_agent. This is the hot path: no locks, no
// allocation and no system calls, except for a new chunk.
#include "agent/events.h"

#include "agent/definitions.h"
#include "agent/open.h"
#include "agent/spool.h"
#include "wire/pack.h"

namespace sonde::agent {

namespace {

using wire::DropReason;
using wire::DropSource;
using wire::RecordType;

uint64_t pack(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

// A text as a record refers to it: by id, or in full.
struct TextReference {
  uint32_t id = 0;
  const char* data = "";
  uint32_t length = 0;  // of `data`, when id is 0
};

// A text that occurs once is not interned but written in full.
[[gnu::noinline]] TextReference refer_by_content(Ring* ring, const char* text) {
  if (text == nullptr || *text == '\0') return {};
  const Text content = make_text(text);
  const wire::StringRecord* known = find_string(content);
  if (known == nullptr && seen_before(content)) {
    intern_text(content);
    known = find_string(content);
  }
  if (known == nullptr) return {0, content.data, static_cast<uint32_t>(content.length)};
  ring->texts.remember(text, known);
  return {known->header.id};
}

TextReference refer(Ring* ring, const char* text) {
  const uint32_t id = ring->texts.find(text);
  return id != 0 ? TextReference{id} : refer_by_content(ring, text);
}

uint64_t text_bytes(const TextReference& text) {
  return text.id == 0 && text.length != 0
             ? sizeof(wire::ContinuationRecord) + wire::words_for(text.length) * 8
             : 0;
}

void write_text(char* place, const char* data, uint32_t length) {
  const uint64_t words = wire::words_for(length);
  auto* record = reinterpret_cast<wire::ContinuationRecord*>(place);
  record->header = {RecordType::kText, 0, static_cast<uint16_t>(words + 1), length};
  if (words != 0) reinterpret_cast<uint64_t*>(record + 1)[words - 1] = 0;
  memcpy(record + 1, data, length);
}

void lost(DropSource source) { count_drop(source, drop_reason()); }

// Keeps a text until its range ends. One that does not fit is interned, or else truncated.
[[gnu::noinline]] void keep_text(Ring* ring, wire::OpenRange& span, const char* full_text) {
  wire::ChunkHeader* chunk = ring->chunk;
  const TextReference text = refer_by_content(ring, full_text);
  span.id = text.id;
  if (text.id != 0 || text.length == 0) return;
  const uint32_t top = open_text_top(chunk);
  const uint32_t room = wire::kOpenTextBytes - top;
  if (text.length > room) {
    span.id = intern_text(make_text(text.data, text.length));
    if (span.id != 0) return;
  }
  span.text_offset = static_cast<uint16_t>(top);
  span.text_length = text.length < room ? text.length : room;
  memcpy(chunk->open_text + top, text.data, span.text_length);
}

// Writes the record of a range, without its text; there must be room for a domain. Returns its
// length.
inline uint64_t put_range(char* place, const wire::OpenRange& span, uint64_t end) {
  const bool has_domain = (span.domain | span.category) != 0;
  auto* record = reinterpret_cast<wire::SpanRecord*>(place);
  record->header = {RecordType::kRange, static_cast<uint8_t>(has_domain ? wire::kHasDomain : 0),
                    static_cast<uint16_t>(sizeof(wire::SpanRecord) / 8 + (has_domain ? 1 : 0)),
                    span.id};
  record->begin = span.begin;
  record->end = end;
  // Without a domain, this word is not part of the record and is overwritten by the next one.
  *reinterpret_cast<uint64_t*>(record + 1) = pack(span.domain, span.category);
  return sizeof(wire::SpanRecord) + (has_domain ? 8 : 0);
}

constexpr uint64_t kMostRangeBytes = sizeof(wire::SpanRecord) + 8;

// A range with its text inline, or one that may need a new chunk.
[[gnu::noinline]] void write_long_range(Ring* ring, const wire::OpenRange& span, uint64_t end) {
  const bool inline_text = span.id == 0 && span.text_length != 0;
  const uint64_t text_bytes =
      inline_text ? sizeof(wire::ContinuationRecord) + wire::words_for(span.text_length) * 8 : 0;
  // The open text moves with a change of chunk: `span` is a copy, the text is read again below.
  char* room = reserve(ring, kMostRangeBytes + text_bytes);
  if (room == nullptr) return lost(DropSource::kRange);
  const uint64_t bytes = put_range(room, span, end);
  if (inline_text) {
    write_text(room + bytes, ring->chunk->open_text + span.text_offset, span.text_length);
  }
  commit(ring, bytes + text_bytes);
}

inline void write_range(Ring* ring, const wire::OpenRange& span, uint64_t end) {
  if (span.text_length != 0 || ring->used + kMostRangeBytes > ring->limit) {
    const wire::OpenRange copy = span;  // it lies in a chunk that may be retired
    return write_long_range(ring, copy, end);
  }
  commit(ring, put_range(payload(ring->chunk) + ring->used, span, end));
}

}  // namespace

void range_push(uint32_t domain, uint32_t category, const char* text) {
  Inside inside;
  if (!inside) return count_drop(DropSource::kRange, Inside::reason());
  Ring* ring = this_ring();
  if (ring == nullptr) return lost(DropSource::kRange);
  wire::ChunkHeader* chunk = ring->chunk;
  const uint32_t count = load(chunk->open_ranges);
  const bool has_deep = ring->too_deep_ranges != 0 && has_deep_range(ring, domain);
  if (count >= wire::kMaxOpenRanges || has_deep) [[unlikely]] {
    return lose_deep_range(ring, domain);
  }
  wire::OpenRange& span = chunk->ranges[count];
  span = {};
  span.domain = domain;
  span.category = category;
  for (uint32_t i = count; i-- > 0;) {
    if (chunk->ranges[i].domain == domain) {
      span.level = chunk->ranges[i].level + 1;
      break;
    }
  }
  span.state = recording() ? 0 : wire::kRangeMuted;
  if (span.state == 0) {
    // Where the clock serializes (clock_gettime), reading it first avoids waiting for the text.
    span.begin = ticks();
    span.id = ring->texts.find(text);
    if (span.id == 0) {
      keep_text(ring, span, text);
      span.begin = ticks();
    }
  }
  store_release(chunk->open_ranges, count + 1);
}

int range_pop(uint32_t domain) {
  const uint64_t end = ticks();
  if (end == 0) return -1;
  Inside inside;
  if (!inside) {
    count_drop(DropSource::kRange, Inside::reason());
    return -1;
  }
  Ring* ring = t_state.ring;
  if (ring == nullptr || ring->chunk == nullptr) return -1;
  if (ring->too_deep_ranges != 0) [[unlikely]] {
    if (const int level = end_deep_range(ring, domain); level >= 0) return level;
  }
  wire::ChunkHeader* chunk = ring->chunk;
  uint32_t index = load(chunk->open_ranges);
  do {
    if (index-- == 0) return -1;
  } while (chunk->ranges[index].domain != domain);
  const wire::OpenRange& span = chunk->ranges[index];
  const auto level = static_cast<int>(span.level);
  if ((span.state & wire::kRangeMuted) == 0) write_range(ring, span, end);
  remove_open(ring->chunk->ranges, ring->chunk->open_ranges, index);
  return level;
}

void range_at(uint32_t domain, uint32_t category, const char* text, uint64_t begin, uint64_t end) {
  if (!recording()) return;
  Inside inside;
  if (!inside) return count_drop(DropSource::kRange, Inside::reason());
  Ring* ring = this_ring();
  if (ring == nullptr) return lost(DropSource::kRange);
  const TextReference reference = refer(ring, text);
  char* room = reserve(ring, kMostRangeBytes + text_bytes(reference));
  if (room == nullptr) return lost(DropSource::kRange);
  wire::OpenRange span = {};
  span.begin = begin < end ? begin : end;
  span.id = reference.id;
  span.domain = domain;
  span.category = category;
  const uint64_t bytes = put_range(room, span, end);
  if (text_bytes(reference) != 0) write_text(room + bytes, reference.data, reference.length);
  commit(ring, bytes + text_bytes(reference));
}

namespace {

// `take` writes records of its own, which may move this thread to its ring's next chunk.
[[gnu::noinline]] Ring* take_stack(void (*take)(uint64_t), uint64_t correlation) {
  {
    Outside outside;
    take(correlation);
  }
  return this_ring();
}

}  // namespace

sonde_call call_begin(uint32_t function, int kind) {
  sonde_call call = {0, 0};
  if (!recording()) return call;
  Inside inside;
  Ring* ring = inside ? this_ring() : nullptr;
  if (ring == nullptr) {
    inside ? lost(DropSource::kCall) : count_drop(DropSource::kCall, Inside::reason());
    return call;
  }
  if (kind != SONDE_CALL_PLAIN) {
    call.correlation = uint64_t{ring->index} << 40 | ++ring->next_correlation;
    const auto take = kind == SONDE_CALL_LAUNCHES ? load(g_state.take_stack) : nullptr;
    if (take != nullptr) ring = take_stack(take, call.correlation);
    if (ring == nullptr) {
      lost(DropSource::kCall);
      return call;
    }
  }
  wire::ChunkHeader* chunk = ring->chunk;
  const uint32_t count = load(chunk->open_calls);
  if (count >= wire::kMaxOpenCalls) {
    count_drop(DropSource::kCall, DropReason::kTooDeep);
    return call;
  }
  wire::OpenCall& span = chunk->calls[count];
  span.function = function;
  span.serial = ++ring->call_serial;
  call.private_data = pack(count + 1, span.serial);
  span.begin = ticks();
  store_release(chunk->open_calls, count + 1);
  return call;
}

namespace {

// Closes a packed record that begins at `record`.
void commit_packed(Ring* ring, char* record, RecordType type, uint64_t values, uint32_t id,
                   const char* end) {
  const uint64_t words = wire::words_for(static_cast<uint64_t>(end - record));
  *reinterpret_cast<wire::RecordHeader*>(record) = {type, static_cast<uint8_t>(values),
                                                    static_cast<uint16_t>(words), id};
  commit(ring, words * 8);
}

static_assert(SONDE_ARGS_MAX_WORDS == wire::kMostArguments);

inline void write_call(Ring* ring, uint32_t function, uint64_t begin, uint64_t end,
                       uint64_t correlation, int64_t result, const uint64_t* words, size_t count) {
  if (count > SONDE_ARGS_MAX_WORDS) count = SONDE_ARGS_MAX_WORDS;
  const uint64_t values = wire::kCallValues + count;
  char* record = reserve(ring, sizeof(wire::RecordHeader) + wire::packed_room(values));
  if (record == nullptr) return lost(DropSource::kCall);
  wire::Packer packer(record + sizeof(wire::RecordHeader), values);
  packer.add(begin, end - begin);
  packer.add(correlation, static_cast<uint64_t>(result));
  packer.add(words, count);
  commit_packed(ring, record, RecordType::kPackedCall, values, function, packer.end());
}

}  // namespace

void call_end(const sonde_call* call, int64_t result, const uint64_t* words, size_t count) {
  const uint64_t end = ticks();
  if (call->private_data == 0 || end == 0) return;
  Inside inside;
  if (!inside) return count_drop(DropSource::kCall, Inside::reason());
  Ring* ring = t_state.ring;
  if (ring == nullptr || ring->chunk == nullptr) return;
  // Its entry is where it was left, unless calls below it have ended meanwhile.
  wire::ChunkHeader* chunk = ring->chunk;
  const auto serial = static_cast<uint32_t>(call->private_data >> 32);
  uint32_t index = static_cast<uint32_t>(call->private_data);
  if (index > load(chunk->open_calls)) index = load(chunk->open_calls);
  do {
    if (index-- == 0) return;
  } while (chunk->calls[index].serial != serial);
  const wire::OpenCall& span = chunk->calls[index];
  write_call(ring, span.function, span.begin, end, call->correlation, result, words, count);
  remove_open(ring->chunk->calls, ring->chunk->open_calls, index);
}

void call_at(uint32_t function, uint64_t begin, uint64_t end, int64_t result, const uint64_t* words,
             size_t count) {
  if (!recording()) return;
  Inside inside;
  if (!inside) return count_drop(DropSource::kCall, Inside::reason());
  Ring* ring = this_ring();
  if (ring == nullptr) return lost(DropSource::kCall);
  write_call(ring, function, begin, end, 0, result, words, count);
}

namespace {

// Records of one moment: [header ticks value] [domain] [text].
void write_moment(RecordType type, DropSource source, uint32_t id, uint64_t value, uint32_t domain,
                  uint32_t category, const char* text) {
  Inside inside;
  if (!inside) return count_drop(source, Inside::reason());
  Ring* ring = this_ring();
  if (ring == nullptr) return lost(source);
  TextReference reference;
  if (text != nullptr) {
    reference = refer(ring, text);
    id = reference.id;
  }
  const uint64_t domain_bytes = (domain | category) != 0 ? 8 : 0;
  const uint64_t bytes = sizeof(wire::MomentRecord) + domain_bytes + text_bytes(reference);
  char* room = reserve(ring, bytes);
  if (room == nullptr) return lost(source);
  auto* record = reinterpret_cast<wire::MomentRecord*>(room);
  record->header = {type, static_cast<uint8_t>(domain_bytes != 0 ? wire::kHasDomain : 0),
                    static_cast<uint16_t>((sizeof(wire::MomentRecord) + domain_bytes) / 8), id};
  record->value = value;
  char* next = reinterpret_cast<char*>(record + 1);
  if (domain_bytes != 0) {
    *reinterpret_cast<uint64_t*>(next) = pack(domain, category);
    next += 8;
  }
  if (text_bytes(reference) != 0) write_text(next, reference.data, reference.length);
  record->ticks = ticks();
  commit(ring, bytes);
}

// [header ticks] [text]
void write_event(RecordType type, uint8_t flags, uint32_t id, const char* text) {
  Inside inside;
  Ring* ring = inside ? this_ring() : nullptr;
  if (ring == nullptr) return lost(DropSource::kOther);
  const auto length =
      static_cast<uint32_t>(text != nullptr ? strnlen(text, wire::kMaxTextBytes) : 0);
  const uint64_t bytes =
      sizeof(wire::EventRecord) + sizeof(wire::ContinuationRecord) + wire::words_for(length) * 8;
  char* room = reserve(ring, bytes);
  if (room == nullptr) return lost(DropSource::kOther);
  auto* record = reinterpret_cast<wire::EventRecord*>(room);
  record->header = {type, flags, sizeof(wire::EventRecord) / 8, id};
  record->ticks = ticks();
  write_text(room + sizeof *record, text != nullptr ? text : "", length);
  commit(ring, bytes);
}

}  // namespace

uint64_t range_start(uint32_t domain, uint32_t category, const char* text) {
  if (!recording()) return 0;
  Ring* ring = nullptr;
  if (Inside inside; inside) ring = this_ring();
  if (ring == nullptr) {
    lost(DropSource::kRange);
    return 0;
  }
  const uint64_t id = uint64_t{ring->index} << 40 | ++ring->next_range;
  write_moment(RecordType::kRangeStart, DropSource::kRange, 0, id, domain, category,
               text != nullptr ? text : "");
  return id;
}

void range_stop(uint64_t id) {
  if (id != 0) write_moment(RecordType::kRangeStop, DropSource::kRange, 0, id, 0, 0, nullptr);
}

void mark(uint32_t domain, uint32_t category, const char* text) {
  if (!recording()) return;
  write_moment(RecordType::kMark, DropSource::kMark, 0, 0, domain, category,
               text != nullptr ? text : "");
}

void counter(uint32_t name, double value) {
  if (!recording()) return;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  write_moment(RecordType::kCounter, DropSource::kCounter, name, bits, 0, 0, nullptr);
}

void metadata(const char* key, const char* value) {
  write_event(RecordType::kNote, 0, intern(key, key != nullptr ? strlen(key) : 0), value);
}

void name_thread(uint32_t tid, const char* name) {
  const uint32_t self = t_state.ring != nullptr ? t_state.ring->tid : 0;
  if (tid == 0 || tid == self) {
    Ring* ring = nullptr;
    if (Inside inside; inside) ring = this_ring();
    if (ring != nullptr) write_event(RecordType::kThread, wire::kNamedByProgram, ring->tid, name);
  } else {
    write_event(RecordType::kThread, wire::kOtherThread | wire::kNamedByProgram, tid, name);
  }
}

void diagnostic(int severity, const char* source, const char* text) {
  if (load(g_state.silent) != 0) return;
  const uint32_t id = intern(source, source != nullptr ? strlen(source) : 0);
  write_event(RecordType::kDiagnostic, static_cast<uint8_t>(severity), id, text);
}

void dropped(const char* source, uint64_t count) {
  if (load(g_state.silent) != 0) return;
  const uint32_t id = intern(source, source != nullptr ? strlen(source) : 0);
  write_moment(RecordType::kDropped, DropSource::kOther, id, count, 0, 0, nullptr);
}

namespace {

uint64_t pack(int16_t low, int16_t high) {
  return static_cast<uint16_t>(low) | uint64_t{static_cast<uint16_t>(high)} << 16;
}

// The words of OpRecord after its header, one member at a time: the caller has just stored them,
// and a wider load over several of them would defeat store forwarding.
void pack_op(wire::Packer& packer, const sonde_op& op) {
  packer.add(pack(op.kind, op.queue), pack(op.clock, static_cast<uint32_t>(op.status)));
  packer.add(op.correlation, op.queued);
  packer.add(op.submitted, op.start);
  packer.add(op.end, op.bytes);
  packer.add(op.grid[0], op.grid[1]);
  packer.add(op.grid[2], pack(op.group[0], op.group[1]));
  packer.add(pack(op.group[2], op.flags), op.src);
  packer.add(op.dst, op.size[0]);
  packer.add(op.size[1], op.size[2]);
  packer.add(pack(op.group_segment_bytes, op.private_segment_bytes), op.stream);
  packer.add(pack(op.src_device, op.dst_device), 0);
}
static_assert(offsetof(wire::OpRecord, kind) == 8 && offsetof(wire::OpRecord, clock) == 16 &&
              offsetof(wire::OpRecord, correlation) == 24 && offsetof(wire::OpRecord, grid) == 72 &&
              offsetof(wire::OpRecord, group) == 96 && offsetof(wire::OpRecord, src) == 112 &&
              offsetof(wire::OpRecord, group_segment_bytes) == 152 &&
              offsetof(wire::OpRecord, stream) == 160 &&
              offsetof(wire::OpRecord, src_device) == 168 && wire::kOpValues == 21);

}  // namespace

// Recorded even after recording was switched off, if the operation's launch was recorded.
void op(const sonde_op* op) {
  if (op->correlation == 0 && !recording()) return;
  Inside inside;
  if (!inside) return count_drop(DropSource::kOp, Inside::reason());
  Ring* ring = this_ring();
  constexpr uint64_t kRoom = sizeof(wire::RecordHeader) + wire::packed_room(wire::kOpValues);
  char* place = ring != nullptr ? reserve(ring, kRoom) : nullptr;
  if (place == nullptr) return lost(DropSource::kOp);
  wire::Packer packer(place + sizeof(wire::RecordHeader), wire::kOpValues);
  pack_op(packer, *op);
  commit_packed(ring, place, RecordType::kPackedOp, wire::kOpValues, op->name, packer.end());
}

void copy_request(const sonde_copy_request* request) {
  if (!recording()) return;
  Inside inside;
  if (!inside) return count_drop(DropSource::kOp, Inside::reason());
  Ring* ring = this_ring();
  char* room = ring != nullptr ? reserve(ring, sizeof(wire::CopyRequestRecord)) : nullptr;
  if (room == nullptr) return lost(DropSource::kOp);
  constexpr uint64_t kBytes = sizeof(wire::CopyRequestRecord);
  constexpr wire::RecordHeader kHeader = {RecordType::kCopyRequest, 0, kBytes / 8, 0};
  static_assert(kBytes == sizeof kHeader + sizeof *request);
  memcpy(room, &kHeader, sizeof kHeader);
  memcpy(room + sizeof kHeader, request, sizeof *request);
  commit(ring, kBytes);
}

void clock_snapshot(uint32_t clock, uint64_t value, uint64_t before, uint64_t after) {
  Inside inside;
  Ring* ring = inside ? this_ring() : nullptr;
  char* room = ring != nullptr ? reserve(ring, sizeof(wire::SnapshotRecord)) : nullptr;
  if (room == nullptr) return;
  const wire::SnapshotRecord record = {
      {RecordType::kSnapshot, 0, sizeof(wire::SnapshotRecord) / 8, clock}, value, before, after};
  memcpy(room, &record, sizeof record);
  commit(ring, sizeof record);
}

uint32_t intern(const char* text, size_t length) {
  if (text == nullptr || length == 0) return 0;
  Inside inside;
  ErrnoKeeper keep;
  return may_define(static_cast<bool>(inside)) ? intern_text(make_text(text, length)) : 0;
}

}  // namespace sonde::agent
