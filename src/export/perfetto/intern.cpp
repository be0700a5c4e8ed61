#include "export/perfetto/intern.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/demangle.h"
#include "base/strings.h"

namespace sonde::exporting {

namespace {
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
  const InternedEntry entry(stream, field, iid);
  stream.out().bytes(2, fit_text(text, scratch));
}

uint64_t InternedKernels::iid(uint32_t index) {
  if (written_[index]) return uint64_t{index} + 1;
  written_[index] = true;
  const std::string_view name = names_.at(index);
  const std::string readable = demangle(name);
  std::string scratch;
  const uint64_t iid = uint64_t{index} + 1;
  const InternedEntry entry(stream_, InternField::kComputeKernel, iid);
  stream_.out().bytes(2, fit_text(name, scratch));
  if (readable != name) stream_.out().bytes(3, fit_text(readable, scratch));
  return iid;
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
