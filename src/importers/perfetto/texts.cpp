#include "importers/perfetto/texts.h"

#include <algorithm>

#include "base/demangle.h"
#include "base/strings.h"
#include "base/value_or.h"
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
    read_fields(reader.bytes(), ProtoField{11, track}, ProtoField{31, counter_tracks},
                ProtoField{45, real_counter_tracks});
  }
}

void PerfettoSequence::intern(std::string_view message, TextPool& pool) {
  ProtoReader reader(message);
  while (reader.next()) {
    const int kind = kind_of_field(reader.field());
    if (kind < 0) {
      intern_other(reader.field(), reader.bytes(), pool);
      continue;
    }
    uint64_t iid = 0;
    std::string_view text, readable;
    read_fields(reader.bytes(), ProtoField{1, iid}, ProtoField{2, text}, ProtoField{3, readable});
    // The readable name of a kernel, unless it can be made of the one that the program used.
    if (kind == kKernel && !readable.empty() && demangle(text) != readable) text = readable;
    texts[kind][iid] = pool.id(text);
  }
}

void PerfettoSequence::intern_other(uint32_t field, std::string_view entry, TextPool& pool) {
  uint64_t iid = 0;
  std::string_view bytes;
  if (field == kFrames) {
    uint64_t function = 0;
    read_fields(entry, ProtoField{1, iid}, ProtoField{2, function});
    frames[iid] = text(kFunction, function);
  } else if (field == kCallStacks) {
    std::vector<uint64_t> iids;
    read_fields(entry, ProtoField{1, iid}, ProtoField{2, iids});
    std::vector<uint32_t> stack;
    for (const uint64_t frame : iids) stack.push_back(value_or(frames, frame));
    call_stacks[iid] = std::move(stack);
  } else if (field == kContexts) {
    int32_t pid = -1;
    uint64_t api = 0;
    read_fields(entry, ProtoField{1, iid}, ProtoField{2, pid}, ProtoField{3, api});
    contexts[iid] = {pid, api};
  } else if (field == kSpecifications) {
    uint64_t category = 0;
    read_fields(entry, ProtoField{1, iid}, ProtoField{2, bytes}, ProtoField{4, category});
    specifications[iid] = {pool.id(bytes), category};
  } else if (field == kCounterDescriptors) {
    read_fields(entry, ProtoField{1, iid}, ProtoField{2, bytes});
    counter_descriptors[iid] = bytes;
  }
}

uint32_t PerfettoSequence::text(Kind kind, uint64_t iid) {
  const auto found = texts[kind].find(iid);
  if (found != texts[kind].end()) return found->second;
  if (iid != 0) ++unknown_iids;
  return 0;
}

}  // namespace sonde::importers
