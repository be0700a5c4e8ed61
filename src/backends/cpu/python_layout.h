// Where CPython keeps what a walk of its frames needs: byte offsets within each structure, for the
// 64-bit builds of each version. Facts from the versions' internal headers.
#pragma once

#include <stdint.h>

#include <initializer_list>

namespace sonde::cpu {

// How a thread's frames are linked.
enum class FrameChain : uint8_t {
  kObjects,     // a frame object per call, each with a C frame
  kEntryMarks,  // several calls share a C frame; the outermost of them is marked as its entry
  kEntryFrames  // the same, with an extra entry frame on the C stack after them
};

struct PythonLayout {
  uint32_t version;  // 0x30b for 3.11
  FrameChain chain;
  uint16_t thread_frame;   // thread state: the frame, or a pointer to the cframe
  uint16_t thread_chunk;   // ... and the latest chunk of its frames; 0: there are no chunks
  uint16_t cframe_frame;   // offset of the frame in a cframe; kDirect: there are no cframes
  uint16_t cframe_before;  // ... and of the previous cframe
  uint16_t frame_before, frame_code, frame_at;
  uint16_t frame_mark;  // kEntryMarks: is_entry; kEntryFrames: owner
  uint8_t at_scale;     // kObjects: bytes per unit of f_lasti
  uint16_t code_file, code_name, code_line, code_lines, code_start;
  uint16_t ascii_text, wide_text;  // string object: offset of its characters
  uint16_t text_length = 16, text_state = 32;
  uint16_t bytes_length = 16, bytes_data = 32;
};
constexpr uint16_t kDirect = 0xffff;
constexpr uint8_t kOwnedByCStack = 3;

// A chunk begins with its predecessor and its size, of at least so many bytes.
constexpr uint64_t kChunkSize = 8, kLeastChunk = 16 * 1024;

// All that is read of a thread's state, a frame or a code object, from its beginning.
constexpr uint64_t kMostPart = 4096 + 8;
constexpr uint64_t bytes_of_state(const PythonLayout& layout) {
  const uint64_t last =
      layout.thread_chunk > layout.thread_frame ? layout.thread_chunk : layout.thread_frame;
  return last + 8;
}
constexpr uint64_t bytes_of_frame(const PythonLayout& layout) {
  uint64_t last = layout.frame_before;
  for (const uint64_t other : {layout.frame_code, layout.frame_at, layout.frame_mark}) {
    if (other > last) last = other;
  }
  return last + 8;
}
constexpr uint64_t bytes_of_code(const PythonLayout& layout) {
  uint64_t last = 8;  // offset of its type
  for (const uint64_t other :
       {layout.code_file, layout.code_name, layout.code_line, layout.code_lines}) {
    if (other > last) last = other;
  }
  return last + 8;
}

constexpr PythonLayout kPythonLayouts[] = {
    {0x308, FrameChain::kObjects, 24, 0, kDirect, 0, 24, 32, 104, 0, 1, 104, 112, 40, 120, 0, 48,
     72},
    {0x309, FrameChain::kObjects, 24, 0, kDirect, 0, 24, 32, 104, 0, 1, 104, 112, 40, 120, 0, 48,
     72},
    {0x30a, FrameChain::kObjects, 24, 0, kDirect, 0, 24, 32, 96, 0, 2, 104, 112, 40, 120, 0, 48,
     72},
    {0x30b, FrameChain::kEntryMarks, 56, 296, 8, 16, 48, 32, 56, 68, 0, 112, 128, 72, 136, 184, 48,
     72},
    {0x30c, FrameChain::kEntryFrames, 56, 232, 0, 8, 8, 0, 56, 70, 0, 112, 128, 68, 136, 192, 40,
     56},
    {0x30d, FrameChain::kEntryFrames, 72, 232, kDirect, 0, 8, 0, 56, 70, 0, 112, 128, 68, 136, 200,
     40, 56},
};

}  // namespace sonde::cpu
