#include "backends/cpu/mapped_image.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sanitizer/asan_interface.h>
#include <string.h>

namespace sonde::cpu {
namespace {

// AddressSanitizer puts forbidden bytes between a program's variables, which may follow at once.
TEST(MappedImage, NothingBehindTheHeadersIsRead) {
  alignas(4096) static char file[8192];
  ElfW(Ehdr) header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_phentsize = sizeof(ElfW(Phdr));
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  ElfW(Phdr) segment = {};
  segment.p_type = PT_LOAD;
  segment.p_vaddr = 0x5000;
  memcpy(file, &header, sizeof header);
  memcpy(file + sizeof header, &segment, sizeof segment);
  constexpr size_t kHeaders = sizeof header + sizeof segment;
  ASAN_POISON_MEMORY_REGION(file + kHeaders, sizeof file - kHeaders);
  const auto start = reinterpret_cast<uint64_t>(file);
  MappedImage image(Stay::kCertain, start, start + sizeof file);
  uint64_t bias = 0;
  EXPECT_TRUE(image.read_headers());
  EXPECT_TRUE(image.find_bias(bias));
  EXPECT_EQ(bias, start - 0x5000);
  ASAN_UNPOISON_MEMORY_REGION(file + kHeaders, sizeof file - kHeaders);
}

}  // namespace
}  // namespace sonde::cpu
