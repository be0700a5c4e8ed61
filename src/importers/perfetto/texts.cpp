#include "importers/perfetto/texts.h"

#include <algorithm>

#include "base/demangle.h"
#include "base/strings.h"
#include "importers/input/proto_reader.h"

namespace sonde::importers {

namespace {

// InternedData
constexpr uint32_t kFrames = 6, kCallStacks = 7, kContexts = 23, kSpecifications = 24,
                   kCounterDescriptors = 47;

int kind_of_field(uint32_t field) {
  constexpr uint32_t kFields[PerfettoSequence::kKinds] = {1, 2, 3, 29, 5, 1000, 1001};  // by Kind
  const auto* found = std::find(std::begin(kFields), std::end(kFields), field);
  return found == std::end(kFields) ? -1 : static_cast<int>(found - kFields);
}

}  // namespace

uint32_t TextPool::id(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  std::string valid = valid_utf8(text);
  if (valid != text) {
    ++repaired_;
    if (const auto found = ids_.find(valid); found != ids_.end()) return found->second;
  }
  const auto number = static_cast<uint32_t>(texts_.size());
  ids_.emplace(texts_.emplace_back(std::move(valid)), number);
  return number;
}

void PerfettoSequence::clear() {
  cleared = true;
  clock = track = 0;
  counter_tracks.clear();
  real_counter_tracks.clear();
  for (auto& kind : texts) kind.clear();
  frames.clear();
  call_stacks.clear();
  specifications.clear();
  contexts.clear();
  counter_descriptors.clear();
}

// TracePacketDefaults
void PerfettoSequence::set_defaults(std::string_view message) {
  clock = track = 0;
  counter_tracks.clear();
  real_counter_tracks.clear();
  ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() == 58) clock = reader.number();
    if (reader.field() != 11) continue;  // TrackEventDefaults
    ProtoReader events(reader.bytes());
    while (events.next()) {
      if (events.field() == 11) track = events.number();
      if (events.field() == 31) counter_tracks.push_back(events.number());
      if (events.field() == 45) real_counter_tracks.push_back(events.number());
    }
  }
}

void PerfettoSequence::intern(std::string_view message, TextPool& pool) {
  ProtoReader reader(message);
  while (reader.next()) {
    const uint32_t field = reader.field();
    if (field == kFrames) intern_frame(reader.bytes());
    if (field == kCallStacks) intern_call_stack(reader.bytes());
    if (field == kContexts || field == kSpecifications || field == kCounterDescriptors) {
      intern_gpu(field, reader.bytes(), pool);
    }
    const int kind = kind_of_field(field);
    if (kind < 0) continue;
    uint64_t iid = 0;
    std::string_view text;
    ProtoReader entry(reader.bytes());
    while (entry.next()) {
      if (entry.field() == 1) iid = entry.number();
      if (entry.field() == 2) text = entry.bytes();
      // The readable name of a kernel, unless it can be made of the one that the program used.
      if (field == 1000 && entry.field() == 3 && !entry.bytes().empty() &&
          demangle(text) != entry.bytes()) {
        text = entry.bytes();
      }
    }
    texts[kind][iid] = pool.id(text);
  }
}

void PerfettoSequence::intern_frame(std::string_view message) {
  uint64_t iid = 0, function = 0;
  ProtoReader entry(message);
  while (entry.next()) {
    if (entry.field() == 1) iid = entry.number();
    if (entry.field() == 2) function = entry.number();
  }
  frames[iid] = text(kFunction, function);
}

void PerfettoSequence::intern_call_stack(std::string_view message) {
  uint64_t iid = 0;
  std::vector<uint32_t> stack;
  ProtoReader entry(message);
  while (entry.next()) {
    if (entry.field() == 1) iid = entry.number();
    if (entry.field() != 2) continue;
    const auto frame = frames.find(entry.number());
    stack.push_back(frame == frames.end() ? 0 : frame->second);
  }
  call_stacks[iid] = std::move(stack);
}

void PerfettoSequence::intern_gpu(uint32_t field, std::string_view message, TextPool& pool) {
  if (field == kCounterDescriptors) {
    uint64_t iid = 0;
    std::string descriptor;
    ProtoReader entry(message);
    while (entry.next()) {
      if (entry.field() == 1) iid = entry.number();
      if (entry.field() == 2) descriptor = entry.bytes();
    }
    counter_descriptors[iid] = std::move(descriptor);
    return;
  }
  uint64_t iid = 0;
  Specification specification;
  Context context;
  ProtoReader entry(message);
  while (entry.next()) {
    if (entry.field() == 1) iid = entry.number();
    if (field == kContexts) {
      if (entry.field() == 2) context.pid = static_cast<int32_t>(entry.number());
      if (entry.field() == 3) context.api = entry.number();
    } else {
      if (entry.field() == 2) specification.name = pool.id(entry.bytes());
      if (entry.field() == 4) specification.category = entry.number();
    }
  }
  if (field == kContexts) {
    contexts[iid] = context;
  } else {
    specifications[iid] = specification;
  }
}

uint32_t PerfettoSequence::text(Kind kind, uint64_t iid) {
  const auto found = texts[kind].find(iid);
  if (found != texts[kind].end()) return found->second;
  if (iid != 0) ++unknown_iids;
  return 0;
}

}  // namespace sonde::importers
