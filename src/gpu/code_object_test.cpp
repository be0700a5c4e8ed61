#include "gpu/code_object.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "gpu/message_pack.h"

namespace sonde::gpu {
namespace {

using Bytes = std::vector<uint8_t>;

template <typename T>
void put(Bytes& bytes, size_t at, const T& value) {
  if (bytes.size() < at + sizeof(value)) bytes.resize(at + sizeof(value));
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}
void put_text(Bytes& bytes, size_t at, std::string_view text) {
  if (bytes.size() < at + text.size() + 1) bytes.resize(at + text.size() + 1);
  std::memcpy(bytes.data() + at, text.data(), text.size());
}

// {"amdhsa.kernels": [{".symbol": "scale.kd", ".vgpr_count": 300, ".args": [{".name": "x",
// ".offset": 8,
// ".size": 4, ".value_kind": "by_value"}]}]}
std::string metadata() {
  const auto text = [](std::string_view value) {
    return std::string(1, static_cast<char>(0xa0 + value.size())) + std::string(value);
  };
  return "\x81" + text("amdhsa.kernels") + "\x91\x83" + text(".symbol") + text("scale.kd") +
         text(".vgpr_count") + "\xcd\x01\x2c" + text(".args") + "\x91\x84" + text(".name") +
         text("x") + text(".offset") + "\x08" + text(".size") + "\x04" + text(".value_kind") +
         text("by_value");
}

// An object of two segments; the second one lies 0x1000 higher in memory than in the file.
Bytes made_object() {
  Bytes bytes;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 224;
  header.e_flags = 0x53f;
  header.e_phoff = sizeof(header);
  header.e_phnum = 4;
  put(bytes, 0, header);
  const std::string note = metadata();
  const Elf64_Phdr segments[] = {
      {PT_LOAD, PF_R, 0, 0, 0, 0x800, 0x800, 0x1000},
      {PT_LOAD, PF_R | PF_X, 0x800, 0x1800, 0x1800, 0x100, 0x100, 0x1000},
      {PT_DYNAMIC, PF_R, 0x300, 0x300, 0x300, 0x60, 0x60, 8},
      {PT_NOTE, PF_R, 0x600, 0x600, 0x600, 20 + note.size(), 20 + note.size(), 4}};
  put(bytes, sizeof(header), segments);
  const Elf64_Dyn dynamic[] = {{DT_SYMTAB, {0x400}},
                               {DT_STRTAB, {0x480}},
                               {DT_STRSZ, {0x20}},
                               {DT_HASH, {0x4c0}},
                               {DT_NULL, {0}}};
  put(bytes, 0x300, dynamic);
  const Elf64_Sym symbols[] = {{}, {1, 0, 0, 2, 0x500, 64}, {1, 0, 0, 2, 0x100000, 64}};
  put(bytes, 0x400, symbols);
  put_text(bytes, 0x481, "scale.kd");
  const uint32_t hash[] = {1, 3};
  put(bytes, 0x4c0, hash);
  KernelDescriptor descriptor{};
  descriptor.group_bytes = 128;
  descriptor.entry_offset = 0x1300;
  descriptor.rsrc2 = 6 << 1 | 1 << 7;
  descriptor.properties = 8;
  put(bytes, 0x500, descriptor);
  const uint32_t head[] = {7, static_cast<uint32_t>(note.size()), 32};
  put(bytes, 0x600, head);
  put_text(bytes, 0x60c, "AMDGPU");
  put_text(bytes, 0x614, note);
  bytes.resize(0x900);
  return bytes;
}

void expect_scale(const Result<CodeObject>& object) {
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->head.architecture, "gfx90a");
  ASSERT_NE(object->head.code(), nullptr);
  EXPECT_EQ(object->head.code()->address, 0x1800u);
  ASSERT_EQ(object->kernels.size(), 1u);  // the other symbol's descriptor is outside
  const Kernel& kernel = object->kernels[0];
  EXPECT_EQ(kernel.name, "scale");
  EXPECT_EQ(kernel.entry, 0x1800u);
  EXPECT_EQ(kernel.descriptor.group_bytes, 128u);
  EXPECT_TRUE(kernel.descriptor.has_kernarg_pointer());
  EXPECT_FALSE(kernel.descriptor.has_queue_pointer());
  EXPECT_EQ(kernel.descriptor.user_sgprs(), 6u);
  EXPECT_TRUE(kernel.descriptor.has_group_id(0));
  EXPECT_FALSE(kernel.descriptor.has_group_id(1));
  ASSERT_EQ(kernel.arguments.size(), 1u);
  EXPECT_EQ(kernel.arguments[0].name, "x");
  EXPECT_EQ(kernel.arguments[0].kind, "by_value");
  EXPECT_EQ(kernel.arguments[0].offset, 8u);
}

TEST(CodeObject, FileAndItsLoadedImageSayTheSame) {
  const Bytes file = made_object();
  expect_scale(read_code_object(file, Image::kFile));
  Bytes loaded(0x1900);
  std::memcpy(loaded.data(), file.data(), 0x800);
  std::memcpy(loaded.data() + 0x1800, file.data() + 0x800, 0x100);
  expect_scale(read_code_object(loaded, Image::kLoaded));
  // A loader may have written this process's addresses into the dynamic section.
  const auto base = reinterpret_cast<uint64_t>(loaded.data());
  for (size_t at : {0x308, 0x318, 0x338}) {
    uint64_t address = 0;
    std::memcpy(&address, loaded.data() + at, 8);
    put(loaded, at, address + base);
  }
  expect_scale(read_code_object(loaded, Image::kLoaded));
}

TEST(CodeObject, WhatIsNotOneIsTold) {
  EXPECT_FALSE(read_code_object({}, Image::kFile).ok());
  Bytes bytes = made_object();
  bytes[18] = 62;  // x86-64
  EXPECT_FALSE(read_code_object(bytes, Image::kFile).ok());
  bytes = made_object();
  bytes.resize(200);
  EXPECT_FALSE(read_code_object(bytes, Image::kFile).ok());
}

// The sanitizers catch reads out of bounds. Address, size and count fields are hit often: a third
// of the values are large.
TEST(CodeObject, AnyBytesAreSafe) {
  std::mt19937 random(11);
  const Bytes good = made_object();
  size_t read = 0;
  for (int i = 0; i < 4000; ++i) {
    Bytes bytes = good;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = random() % 0x6a0;
      bytes[at] = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    for (Image image : {Image::kFile, Image::kLoaded}) read += read_code_object(bytes, image).ok();
  }
  EXPECT_GT(read, 1000u);  // most changes leave something to read
}

TEST(CodeObject, BundlesAreFoundWhereverTheyStand) {
  Bytes file(77, 0xcc);
  put_text(file, 77, "__CLANG_OFFLOAD_BUNDLE__");
  const uint64_t numbers[] = {2, 200, 3, 4};
  put(file, 77 + 24, numbers);
  put_text(file, 77 + 56, "gfxA");
  const uint64_t second[] = {1000000, 3, 4};  // out of bounds
  put(file, 77 + 60, second);
  put_text(file, 77 + 84, "gfxB");
  put_text(file, 77 + 200, "abc");
  const auto found = find_bundled(file);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].target, "gfxA");
  EXPECT_EQ(std::string(found[0].bytes.begin(), found[0].bytes.end()), "abc");
}

TEST(MessagePack, NumbersTextsAndNesting) {
  const auto read = [](const std::string& text) {
    return read_message_pack({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(read("\xd1\xff\xfe")->number, static_cast<uint64_t>(-2));
  EXPECT_EQ(read("\xff")->number, static_cast<uint64_t>(-1));
  EXPECT_EQ(read(std::string("\xda\0\3xyz", 6))->text, "xyz");
  EXPECT_EQ(read("\x93\x01\xc0\xc3")->items.size(), 3u);
  EXPECT_FALSE(read("\xdf\xff\xff\xff\xff").has_value());
  EXPECT_FALSE(read("\xa5xyz").has_value());
  EXPECT_FALSE(read(std::string(100, '\x91')).has_value());
}

}  // namespace
}  // namespace sonde::gpu
