#include "backends/cpu/python_offsets.h"

#include <string.h>

namespace sonde::cpu {

namespace {

// The words of _Py_DebugOffsets in 3.14. The first word of each structure is its size.
enum Word : uint32_t {
  kVersion = 1,
  kFreeThreaded = 2,
  kThreadState = 22,
  kCurrentFrame = 26,
  kStackChunk = 29,
  kInterpreterFrame = 31,
  kPrevious = 32,
  kExecutable = 33,
  kInstruction = 34,
  kOwner = 36,
  kCodeObject = 39,
  kFileName = 40,
  kQualifiedName = 42,
  kLineTable = 43,
  kFirstLine = 44,
  kCode = 48,
  kBytesObject = 74,
  kBytesLength = 75,
  kBytesData = 76,
  kUnicodeObject = 77,
  kUnicodeState = 78,
  kUnicodeLength = 79,
  kAsciiSize = 80,
};
static_assert(kAsciiSize < kOffsetWords);

constexpr uint64_t kLargestObject = 4096;

// Reads offsets and checks that each lies within its structure.
class Taker {
 public:
  explicit Taker(const uint64_t* words) : words_(words) {}
  uint16_t take(Word word, Word structure) {
    const uint64_t size = words_[structure];
    good_ &= size <= kLargestObject && words_[word] <= size;
    return good_ ? static_cast<uint16_t>(words_[word]) : 0;
  }
  bool good() const { return good_; }

 private:
  const uint64_t* words_;
  bool good_ = true;
};

}  // namespace

bool layout_of_offsets(const uint64_t* words, uint32_t version, PythonLayout& layout) {
  if (memcmp(words, "xdebugpy", 8) != 0 || version != 0x30e) return false;
  if (words[kVersion] >> 16 != version || words[kFreeThreaded] != 0) return false;
  Taker taker(words);
  layout = {};
  layout.version = version;
  layout.chain = FrameChain::kEntryFrames;
  layout.cframe_frame = kDirect;
  layout.thread_frame = taker.take(kCurrentFrame, kThreadState);
  layout.thread_chunk = taker.take(kStackChunk, kThreadState);
  layout.frame_before = taker.take(kPrevious, kInterpreterFrame);
  layout.frame_code = taker.take(kExecutable, kInterpreterFrame);
  layout.frame_at = taker.take(kInstruction, kInterpreterFrame);
  layout.frame_mark = taker.take(kOwner, kInterpreterFrame);
  layout.code_file = taker.take(kFileName, kCodeObject);
  layout.code_name = taker.take(kQualifiedName, kCodeObject);
  layout.code_line = taker.take(kFirstLine, kCodeObject);
  layout.code_lines = taker.take(kLineTable, kCodeObject);
  layout.code_start = taker.take(kCode, kCodeObject);
  layout.bytes_length = taker.take(kBytesLength, kBytesObject);
  layout.bytes_data = taker.take(kBytesData, kBytesObject);
  layout.text_length = taker.take(kUnicodeLength, kUnicodeObject);
  layout.text_state = taker.take(kUnicodeState, kUnicodeObject);
  layout.ascii_text = taker.take(kAsciiSize, kUnicodeObject);
  // Follows the header of a compact non-ASCII string: its UTF-8 form and that form's length.
  layout.wide_text = static_cast<uint16_t>(layout.ascii_text + 16);
  return taker.good();
}

}  // namespace sonde::cpu
