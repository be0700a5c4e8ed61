#include "backends/cpu/mapped_image.h"

#include <elf.h>
#include <link.h>
#include <string.h>

namespace sonde::cpu {

namespace {

// Of a segment of notes; those that linkers write have a few hundred bytes.
constexpr size_t kNoteBytes = 2048;

uint32_t copy_build_id_in(const uint8_t* notes, uint64_t bytes, uint64_t align, uint8_t* room,
                          size_t room_bytes) {
  if (align < 4) align = 4;
  const auto rounded = [align](uint64_t size) { return (size + align - 1) / align * align; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof note);
    const uint64_t name = rounded(note.n_namesz), all = sizeof note + name + rounded(note.n_descsz);
    if (all > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(notes + sizeof note, "GNU", 4) == 0) {
      if (note.n_descsz > room_bytes) return 0;
      memcpy(room, notes + sizeof note + name, note.n_descsz);
      return note.n_descsz;
    }
    notes += all;
    bytes -= all;
  }
  return 0;
}

ElfW(Phdr) segment_at(const char* headers, uint64_t first, uint32_t index) {
  ElfW(Phdr) segment;
  memcpy(&segment, headers + first + index * sizeof segment, sizeof segment);
  return segment;
}

}  // namespace

bool MappedImage::read_headers() {
  ElfW(Ehdr) header;
  if (end_ - start_ < kHeaderBytes || !copy(stay_, &header, start_, sizeof header)) return false;
  const uint64_t table_bytes = header.e_phnum * sizeof(ElfW(Phdr));
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
      header.e_phoff > kHeaderBytes || header.e_phoff + table_bytes > kHeaderBytes) {
    return false;
  }
  // No more than that: AddressSanitizer, which checks memcpy(), puts forbidden bytes between the
  // variables of a program, and they may follow at once.
  if (!copy(stay_, headers_ + header.e_phoff, start_ + header.e_phoff, table_bytes)) return false;
  segments_ = header.e_phnum;
  first_segment_ = header.e_phoff;
  return true;
}

bool MappedImage::find_bias(uint64_t& bias) const {
  for (uint32_t i = 0; i < segments_; ++i) {
    const ElfW(Phdr) segment = segment_at(headers_, first_segment_, i);
    if (segment.p_type != PT_LOAD) continue;
    bias = start_ - (segment.p_vaddr - segment.p_offset);
    return true;
  }
  return false;
}

bool MappedImage::find_part(uint32_t type, uint64_t bias, uint32_t& next, Part& part) const {
  while (next < segments_) {
    const ElfW(Phdr) segment = segment_at(headers_, first_segment_, next++);
    part = {bias + segment.p_vaddr, segment.p_memsz, segment.p_align};
    if (segment.p_type == type && part.at >= start_ && part.at <= end_ &&
        part.bytes <= end_ - part.at) {
      return true;
    }
  }
  return false;
}

const uint8_t* MappedImage::unwind_table(uint64_t bias) const {
  uint32_t next = 0;
  Part part;
  const bool found = find_part(PT_GNU_EH_FRAME, bias, next, part);
  return found ? reinterpret_cast<const uint8_t*>(part.at) : nullptr;
}

uint32_t MappedImage::copy_build_id(uint64_t bias, uint8_t* room, size_t room_bytes) const {
  uint32_t next = 0;
  Part part;
  while (find_part(PT_NOTE, bias, next, part)) {
    uint8_t notes[kNoteBytes];
    const uint64_t bytes = part.bytes < sizeof notes ? part.bytes : sizeof notes;
    if (!copy(stay_, notes, part.at, bytes)) continue;
    const uint32_t length = copy_build_id_in(notes, bytes, part.align, room, room_bytes);
    if (length != 0) return length;
  }
  return 0;
}

}  // namespace sonde::cpu
