// An interpreter that describes itself, as CPython 3.14 does, made of plain memory with offsets
// that no real one has: what is found can only have been found by the description.
#include "backends/cpu/python.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "backends/cpu/python_offsets.h"

namespace sonde::cpu {
namespace {

// Where this interpreter keeps things.
constexpr uint64_t kFrameOfThread = 136;
constexpr uint64_t kPrevious = 40, kExecutable = 16, kInstruction = 88, kOwner = 101;
constexpr uint64_t kFile = 24, kName = 72, kLines = 8, kFirstLine = 48, kCode = 112;
constexpr uint64_t kBytesLength = 24, kBytesData = 48, kTextLength = 8, kTextState = 28;
constexpr uint64_t kAsciiSize = 56;

std::vector<uint64_t> description() {
  std::vector<uint64_t> words(kOffsetWords, 7777);
  std::memcpy(words.data(), "xdebugpy", 8);
  words[1] = 0x030e01f0;
  words[2] = 0;
  const std::map<int, uint64_t> said = {
      {22, 512},        {26, kFrameOfThread},  // thread
      {31, 128},        {32, kPrevious},      {33, kExecutable}, {34, kInstruction},
      {36, kOwner},  // frame
      {39, 256},        {40, kFile},          {42, kName},       {43, kLines},
      {44, kFirstLine}, {48, kCode},                                                 // code
      {74, 64},         {75, kBytesLength},   {76, kBytesData},                      // bytes
      {77, 96},         {78, kTextState},     {79, kTextLength}, {80, kAsciiSize}};  // str
  for (const auto& [word, value] : said) words[static_cast<size_t>(word)] = value;
  return words;
}

class Object {
 public:
  explicit Object(size_t bytes = 512) : words_(bytes / 8) {}
  template <typename T>
  Object& put(uint64_t offset, T value) {
    std::memcpy(reinterpret_cast<char*>(words_.data()) + offset, &value, sizeof value);
    return *this;
  }
  Object& put_text(uint64_t offset, std::string_view text) {
    text.copy(reinterpret_cast<char*>(words_.data()) + offset, text.size());
    return *this;
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(words_.data()); }

 private:
  std::vector<uint64_t> words_;
};

// kind 1, compact, ASCII: behind 2 bits that say how it is interned.
Object text_object(std::string_view text, uint32_t state = (1 | 8 | 16) << 2 | 3) {
  Object object;
  object.put(kTextLength, uint64_t{text.size()}).put(kTextState, state);
  const bool ascii = ((state >> 6 | state >> 20) & 1) != 0;
  return object.put_text(ascii ? kAsciiSize : kAsciiSize + 16, text);
}

struct Code {
  Object file, name, lines, code;
  Code(std::string_view file_name, Object name_object, int32_t line)
      : file(text_object(file_name)), name(std::move(name_object)) {
    lines.put(kBytesLength, uint64_t{3}).put_text(kBytesData, "abc");
    code.put(kFile, file.address()).put(kName, name.address()).put(kLines, lines.address());
    code.put(kFirstLine, line);
  }
};

// `owner` 3: one that stands on the C stack behind the others.
Object frame_object(const Code& code, uint64_t at, const Object* before, uint8_t owner = 0) {
  Object frame;
  frame.put(kExecutable, code.code.address() | 1);  // who owns it is in the lowest bits
  frame.put(kInstruction, code.code.address() + kCode + at).put(kOwner, owner);
  frame.put(kPrevious, before == nullptr ? uint64_t{0} : before->address());
  return frame;
}

std::vector<std::string> g_defined;

uint32_t define_code(const struct sonde_code* code) {
  g_defined.push_back(std::string(code->file, code->file_bytes) + ":" +
                      std::to_string(code->first_line) + " " +
                      std::string(code->name, code->name_bytes) + " " +
                      std::string(static_cast<const char*>(code->lines), code->line_bytes));
  return static_cast<uint32_t>(g_defined.size());
}

std::vector<uint64_t> frames_of(const PythonStack& stack) {
  std::vector<uint64_t> frames;
  for (uint32_t i = 0; i < stack.frame_count; ++i) {
    frames.push_back(stack.frames[i].code);
    frames.push_back(stack.frames[i].offset);
  }
  return frames;
}

TEST(PythonOffsets, OfOtherVersionsAndBuildsAreLeftAlone) {
  PythonLayout layout;
  auto words = description();
  EXPECT_TRUE(layout_of_offsets(words.data(), 0x30e, layout));
  EXPECT_EQ(layout.frame_code, kExecutable);
  EXPECT_FALSE(layout_of_offsets(words.data(), 0x30f, layout));
  words[1] = 0x030f00a1;
  EXPECT_FALSE(layout_of_offsets(words.data(), 0x30e, layout)) << "another version than it says";
  words = description();
  words[2] = 1;
  EXPECT_FALSE(layout_of_offsets(words.data(), 0x30e, layout)) << "without the GIL";
  words = description();
  words[33] = 129;
  EXPECT_FALSE(layout_of_offsets(words.data(), 0x30e, layout)) << "beyond its structure";
  words = description();
  words[0] ^= 1;
  EXPECT_FALSE(layout_of_offsets(words.data(), 0x30e, layout)) << "no description";
}

TEST(PythonOffsets, FramesAreFoundByThem) {
  struct sonde_agent agent = {};
  agent.define_code = define_code;
  find_python();
  // The first name's state is that of an early 3.14.
  const Code outer("/opt/job/train.py", text_object("main", (1 | 8 | 16) << 16 | 3), 3);
  // Two bytes a character, not ASCII.
  const Code inner("/opt/job/model.py",
                   text_object(std::string_view("N\0e\0t\0\xe9\0", 8), (2 | 8) << 2), 40);
  const_cast<Object&>(inner.name).put(kTextLength, uint64_t{4});
  const Object entry = frame_object(outer, 0, nullptr, 3);
  const Object first = frame_object(outer, 12, &entry);
  const Object second = frame_object(inner, 34, &first);
  Object thread;
  thread.put(kFrameOfThread, second.address());
  for (int round = 0; round < 2; ++round) {  // the second time they are known
    static PythonStack stack;
    walk_python_of(&agent, thread.address(), stack);
    EXPECT_EQ(frames_of(stack), (std::vector<uint64_t>{1, 34, 2, 12}));
    ASSERT_EQ(stack.run_count, 1u);
    EXPECT_EQ(stack.runs[0].place, entry.address());
    EXPECT_EQ(stack.runs[0].end, 2u);
  }
  EXPECT_EQ(g_defined, (std::vector<std::string>{"/opt/job/model.py:40 Net\xc3\xa9 abc",
                                                 "/opt/job/train.py:3 main abc"}));
}

// Memory that is gone is no frame, and no fault.
TEST(PythonOffsets, AThreadThatHasEndedHasNoFrames) {
  struct sonde_agent agent = {};
  agent.define_code = define_code;
  find_python();
  static PythonStack stack;
  walk_python_of(&agent, 0x10000, stack);
  EXPECT_EQ(stack.frame_count, 0u);
  Object thread;
  thread.put(kFrameOfThread, uint64_t{0x20000});
  walk_python_of(&agent, thread.address(), stack);
  EXPECT_EQ(stack.frame_count, 0u);
}

}  // namespace
}  // namespace sonde::cpu

// What the backend looks for in a process.
#define SONDE_FAKE extern "C" __attribute__((visibility("default")))
SONDE_FAKE uint64_t _PyRuntime[sonde::cpu::kOffsetWords] = {};
SONDE_FAKE const char* Py_GetVersion() { return "3.14.1 (made up)"; }
SONDE_FAKE void _PyEval_EvalFrameDefault() {}
SONDE_FAKE void* PyGILState_GetThisThreadState() { return nullptr; }

namespace {
[[maybe_unused]] const bool g_described = [] {
  const auto words = sonde::cpu::description();
  std::memcpy(_PyRuntime, words.data(), words.size() * sizeof words[0]);
  return true;
}();
}  // namespace
