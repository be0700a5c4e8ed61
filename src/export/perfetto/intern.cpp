#include "export/perfetto/intern.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/demangle.h"
#include "base/strings.h"

namespace sonde::exporting {

namespace {
constexpr uint32_t kInternedData = 12;
constexpr size_t kMaxText = 64 << 10;

bool is_ascii(std::string_view text) {
  uint64_t bits = 0;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    bits |= word;
  }
  for (; i < text.size(); ++i) bits |= static_cast<unsigned char>(text[i]);
  return (bits & 0x8080808080808080) == 0;
}
}  // namespace

std::string_view fit_text(std::string_view text, std::string& scratch) {
  if (text.size() <= kMaxText && is_ascii(text)) return text;
  size_t size = std::min(text.size(), kMaxText);
  // Not in the middle of a character.
  while (size < text.size() && size > 0 && (text[size] & 0xC0) == 0x80) --size;
  scratch = valid_utf8(text.substr(0, size));
  if (size < text.size()) scratch += "...";
  return scratch;
}

void write_interned(PacketStream& stream, InternField field, uint64_t iid, std::string_view text) {
  std::string scratch;
  ProtoBuffer& out = stream.out();
  const size_t packet = stream.begin_packet();
  const size_t data = out.begin(kInternedData);
  const size_t entry = out.begin(static_cast<uint32_t>(field));
  out.varint(1, iid);
  out.bytes(2, fit_text(text, scratch));
  out.end(entry);
  out.end(data);
  stream.end_packet(packet);
}

uint64_t InternedKernels::iid(uint32_t index) {
  if (written_[index]) return uint64_t{index} + 1;
  written_[index] = true;
  const std::string_view name = names_.at(index);
  const std::string readable = demangle(name);
  std::string scratch;
  ProtoBuffer& out = stream_.out();
  const size_t packet = stream_.begin_packet();
  const size_t data = out.begin(kInternedData);
  const size_t entry = out.begin(static_cast<uint32_t>(InternField::kComputeKernel));
  out.varint(1, uint64_t{index} + 1);
  out.bytes(2, fit_text(name, scratch));
  if (readable != name) out.bytes(3, fit_text(readable, scratch));
  out.end(entry);
  out.end(data);
  stream_.end_packet(packet);
  return uint64_t{index} + 1;
}

uint64_t InternedKernels::demangled_iid(uint32_t index) {
  if (demangled_[index] == Known::kNot) {
    const std::string_view name = names_.at(index);
    const std::string readable = demangle(name);
    demangled_[index] = readable == name ? Known::kSame : Known::kOther;
    if (readable != name) {
      write_interned(stream_, InternField::kEventName, kFirstIid + index, readable);
    }
  }
  return demangled_[index] == Known::kOther ? kFirstIid + index : 0;
}

uint64_t InternedSet::iid(std::string_view text) {
  if (const auto at = iids_.find(text); at != iids_.end()) return at->second;
  const uint64_t iid = iids_.size() + 1;
  iids_.emplace(text, iid);
  write_interned(stream_, field_, iid, text);
  return iid;
}

uint64_t InternedRepeats::iid(uint32_t index) {
  const std::string_view text = table_.at(index);
  const uint64_t hash = std::hash<std::string_view>()(text);
  Slot& slot = slots_[hash % kSlots];
  if (slot.index != index && (slot.hash != hash || table_.at(slot.index) != text)) {
    slot = {index, 0, hash};
    return 0;
  }
  if (slot.iid == 0) {
    slot.iid = static_cast<uint32_t>(next_iid_++);
    write_interned(stream_, field_, slot.iid, text);
  }
  return slot.iid;
}

uint64_t InternedValues::iid(std::string_view text) {
  if (text.size() > kLongest) return 0;
  Slot& slot = slots_[std::hash<std::string_view>()(text) % kSlots];
  if (slot.text != text) {
    slot.text = text;
    slot.iid = 0;
    return 0;
  }
  if (slot.iid == 0) {
    slot.iid = next_iid_++;
    write_interned(stream_, field_, slot.iid, text);
  }
  return slot.iid;
}

}  // namespace sonde::exporting
