// What the ELF headers of a mapped file say: where it was linked to be, its unwind table, and its
// build ID. Safe in signal handlers.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/cpu/copying.h"

namespace sonde::cpu {

class MappedImage {
 public:
  // [start, end): the mapping, from the file's first byte on.
  MappedImage(Stay stay, uint64_t start, uint64_t end) : stay_(stay), start_(start), end_(end) {}

  // Call first; false: not an ELF file, or it is gone.
  bool read_headers();
  // The address of the file's address 0; false if nothing is loaded.
  bool find_bias(uint64_t& bias) const;
  // .eh_frame_hdr, or nullptr.
  const uint8_t* unwind_table(uint64_t bias) const;
  // Copies the build ID; returns its length, 0 if there is none that fits.
  uint32_t copy_build_id(uint64_t bias, uint8_t* room, size_t room_bytes) const;

 private:
  struct Part {
    uint64_t at = 0, bytes = 0, align = 0;
  };
  // The next segment of the type, from number `next` on, that lies within the mapping.
  bool find_part(uint32_t type, uint64_t bias, uint32_t& next, Part& part) const;

  static constexpr size_t kHeaderBytes = 4096;
  const Stay stay_;
  const uint64_t start_, end_;
  uint32_t segments_ = 0;
  uint64_t first_segment_ = 0;
  char headers_[kHeaderBytes];
};

}  // namespace sonde::cpu
