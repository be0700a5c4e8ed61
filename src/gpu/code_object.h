// Code objects: ELF files that hold kernels for AMD GPUs, as files or as loaded images. Used by the
// software GPU to run kernels and by reports to show them. Any bytes are safe to read: what is
// truncated, overlaps or contradicts itself is an error or is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::gpu {

// The 64 bytes that a kernel object's address points to, as AMD's compilers write them.
struct KernelDescriptor {
  uint32_t group_bytes, private_bytes, kernarg_bytes, reserved0;
  int64_t entry_offset;  // relative to the descriptor
  uint8_t reserved1[20];
  uint32_t rsrc3, rsrc1, rsrc2;
  uint16_t properties;
  uint8_t reserved2[6];

  // Which values the first SGPRs hold when a wave starts, in this order.
  bool has_private_buffer() const { return (properties & 1) != 0; }
  bool has_dispatch_pointer() const { return (properties & 2) != 0; }
  bool has_queue_pointer() const { return (properties & 4) != 0; }
  bool has_kernarg_pointer() const { return (properties & 8) != 0; }
  bool has_dispatch_id() const { return (properties & 16) != 0; }
  bool has_flat_scratch() const { return (properties & 32) != 0; }
  bool has_private_size() const { return (properties & 64) != 0; }
  uint32_t user_sgprs() const { return rsrc2 >> 1 & 31; }
  bool has_scratch_offset() const { return (rsrc2 & 1) != 0; }
  bool has_group_id(unsigned axis) const { return (rsrc2 >> (7 + axis) & 1) != 0; }
  bool has_group_info() const { return (rsrc2 >> 10 & 1) != 0; }
  // The initial MODE: two bits each for rounding of f32 and of f64 and f16, and for denormals of
  // f32 and of f64 and f16.
  uint32_t float_mode() const { return rsrc1 >> 12 & 255; }
  bool clamps_like_dx10() const { return (rsrc1 >> 21 & 1) != 0; }
  bool is_ieee() const { return (rsrc1 >> 23 & 1) != 0; }
};
static_assert(sizeof(KernelDescriptor) == 64);

struct KernelArgument {
  std::string name;  // "" if the compiler did not write it
  std::string kind;  // "by_value", "global_buffer", "hidden_global_offset_x", ...
  std::string type;  // as in the source; "" if the compiler did not write it
  uint32_t offset = 0, bytes = 0;
};

struct Kernel {
  std::string name;  // mangled
  uint64_t descriptor_address = 0;
  uint64_t entry = 0;  // of the first instruction
  KernelDescriptor descriptor{};
  // From the compiler's note; 0 and empty if there is none.
  std::vector<KernelArgument> arguments;
};

struct Segment {
  uint64_t address = 0, offset = 0;  // in memory from the object's begin, and in the file
  uint64_t file_bytes = 0, memory_bytes = 0;
  bool is_code = false;
};

// The headers: enough to find the code.
struct CodeObjectHead {
  std::string architecture;  // "gfx90a"; "" for an unknown one
  std::vector<Segment> segments;
  uint64_t dynamic = 0, dynamic_bytes = 0, note = 0,
           note_bytes = 0;        // addresses; 0 = there is none
  uint64_t memory_bytes() const;  // of all segments
  const Segment* code() const;    // nullptr if there is none
};

struct CodeObject {
  CodeObjectHead head;
  std::vector<Kernel> kernels;  // sorted by address
};

// A file, or a loaded image, in which addresses count from the first byte.
enum class Image : uint8_t { kFile, kLoaded };

// `bytes`: the object, or a prefix that contains its program headers.
Result<CodeObjectHead> read_code_object_head(std::span<const uint8_t> bytes);
Result<CodeObject> read_code_object(std::span<const uint8_t> bytes, Image image);

// An entry of a clang offload bundle: one of several code objects, each for one target.
struct BundleEntry {
  std::string_view target;  // "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"
  std::span<const uint8_t> bytes;
};
// All entries of all bundles in a file: a bundle, or a program or library that contains some.
std::vector<BundleEntry> find_bundled(std::span<const uint8_t> file);

}  // namespace sonde::gpu
