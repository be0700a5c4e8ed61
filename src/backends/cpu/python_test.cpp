// A self-describing interpreter like CPython 3.14, made of plain memory, with offsets that no real
// one has: the walk can succeed only by following the description.
#include "backends/cpu/python.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "backends/cpu/python_runtime_test_support.h"

// The symbols that the backend looks for in a process (below).
#define SONDE_FAKE extern "C" __attribute__((visibility("default")))
SONDE_FAKE uint64_t PyCode_Type[1] = {};
SONDE_FAKE uint64_t PyUnicode_Type[1] = {};

namespace sonde::cpu {
namespace {

uint64_t address_of(const uint64_t* type) { return reinterpret_cast<uint64_t>(type); }

// The offsets of this interpreter.
constexpr uint64_t kFrameOfThread = 136, kChunkOfThread = 144;
constexpr uint64_t kPrevious = 40, kExecutable = 16, kInstruction = 88, kOwner = 101;
constexpr uint64_t kFile = 24, kName = 72, kLines = 32, kFirstLine = 48, kCode = 112;
constexpr uint64_t kBytesLength = 24, kBytesData = 48, kTextLength = 16, kTextState = 28;
constexpr uint64_t kAsciiSize = 56;

// The type's offset in every object.
constexpr uint64_t kType = 8;

std::vector<uint64_t> description() {
  std::vector<uint64_t> words(kOffsetWords, 7777);
  std::memcpy(words.data(), "xdebugpy", 8);
  words[1] = 0x030e01f0;
  words[2] = 0;
  const std::map<int, uint64_t> said = {
      {22, 512},        {26, kFrameOfThread}, {29, kChunkOfThread},  // thread
      {31, 128},        {32, kPrevious},      {33, kExecutable},    {34, kInstruction},
      {36, kOwner},  // frame
      {39, 256},        {40, kFile},          {42, kName},          {43, kLines},
      {44, kFirstLine}, {48, kCode},                                                    // code
      {74, 64},         {75, kBytesLength},   {76, kBytesData},                         // bytes
      {77, 96},         {78, kTextState},     {79, kTextLength},    {80, kAsciiSize}};  // str
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

// kind 1, compact, ASCII; the lowest 2 bits are the interned flag.
Object text_object(std::string_view text, uint32_t state = (1 | 8 | 16) << 2 | 3) {
  Object object;
  object.put(kType, address_of(PyUnicode_Type));
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
    code.put(kFirstLine, line).put(kType, address_of(PyCode_Type));
  }
};

// `owner` 3: an entry frame on the C stack.
Object frame_object(const Code& code, uint64_t at, const Object* before, uint8_t owner = 0) {
  Object frame;
  frame.put(kExecutable, code.code.address() | 1);  // the lowest bits are the ownership tag
  frame.put(kInstruction, code.code.address() + kCode + at).put(kOwner, owner);
  frame.put(kPrevious, before == nullptr ? uint64_t{0} : before->address());
  return frame;
}

uint64_t g_this_thread = 0;  // thread state of the calling thread

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
  EXPECT_EQ(layout.thread_chunk, kChunkOfThread);
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
  find_python(&agent);
  // The first name has the string state of an early 3.14.
  const Code outer("/opt/job/train.py", text_object("main", (1 | 8 | 16) << 16 | 3), 3);
  // Two bytes per character, not ASCII.
  const Code inner("/opt/job/model.py",
                   text_object(std::string_view("N\0e\0t\0\xe9\0", 8), (2 | 8) << 2), 40);
  const_cast<Object&>(inner.name).put(kTextLength, uint64_t{4});
  const Object entry = frame_object(outer, 0, nullptr, 3);
  const Object first = frame_object(outer, 12, &entry);
  const Object second = frame_object(inner, 34, &first);
  Object thread;
  thread.put(kFrameOfThread, second.address());
  for (int round = 0; round < 2; ++round) {  // the second round finds them in the table
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

// An object of another type in the place of a code object or a name is skipped.
TEST(PythonOffsets, ObjectsOfOtherTypesAreNoFramesAndNoNames) {
  struct sonde_agent agent = {};
  agent.define_code = define_code;
  find_python(&agent);
  const Code sound("/opt/job/sound.py", text_object("sound"), 3);
  Code other("/opt/job/other.py", text_object("other"), 4);
  other.code.put(kType, address_of(PyUnicode_Type));
  Code nameless("/opt/job/nameless.py", text_object("nameless"), 5);
  nameless.name.put(kType, address_of(PyCode_Type));
  const Object first = frame_object(sound, 12, nullptr);
  const Object second = frame_object(other, 34, &first);
  const Object third = frame_object(nameless, 56, &second);
  Object thread;
  thread.put(kFrameOfThread, third.address());
  g_defined.clear();
  static PythonStack stack;
  walk_python_of(&agent, thread.address(), stack);
  EXPECT_EQ(stack.frame_count, 2u);
  EXPECT_EQ(g_defined, (std::vector<std::string>{"/opt/job/nameless.py:5  abc",
                                                 "/opt/job/sound.py:3 sound abc"}));
}

std::vector<std::string> g_told;

// The probe's function and its caller, with one thing wrong about them; returns whether frames are
// still taken.
bool probed(std::string_view name, int32_t line, uint64_t at, std::string_view caller,
            std::string_view file) {
  struct sonde_agent agent = {};
  agent.define_code = define_code;
  agent.diagnostic = [](int, const char*, const char* text) { g_told.push_back(text); };
  find_python(&agent);
  const Code start(file, text_object(caller), 90), probe(file, text_object(name), line);
  const Object entry = frame_object(start, 0, nullptr, 3);
  const Object outer = frame_object(start, 60, &entry);
  const Object inner = frame_object(probe, at, &outer);
  Object thread;
  thread.put(kFrameOfThread, inner.address());
  g_this_thread = thread.address();
  probe_python(&agent, "77:100");
  static PythonStack stack;
  walk_python(&agent, StackBounds(), stack);
  g_this_thread = 0;
  return stack.frame_count != 0;
}

// Each in its own process, because a refusal is permanent.
void expect_probed(bool taken, std::string_view name, int32_t line, uint64_t at,
                   std::string_view caller = "_start",
                   std::string_view file = "/opt/lib/sonde/start/sitecustomize.py") {
  const auto in_child = [&] {
    const bool is_taken = probed(name, line, at, caller, file);
    const bool is_told =
        g_told ==
        std::vector<std::string>{
            "stacks have no Python functions, only those of the interpreter: Python 3.14.1 does "
            "not keep its frames where this version of Sonde looks for them"};
    _exit(is_taken == taken && is_told != taken ? 0 : 1);
  };
  EXPECT_EXIT(in_child(), ::testing::ExitedWithCode(0), "") << name << line << at << caller;
}

TEST(PythonProbe, FramesAreTakenWhereAKnownFunctionIsFound) {
  expect_probed(true, "_probe", 77, 100);
  expect_probed(true, "_probe", 77, 140);
  expect_probed(false, "_prob", 77, 100);
  expect_probed(false, "_probe", 76, 100);
  expect_probed(false, "_probe", 77, 98);
  expect_probed(false, "_probe", 77, 4000);
  expect_probed(false, "_probe", 77, 100, "main");
  expect_probed(false, "_probe", 77, 100, "_start", "/opt/job/train.py");
}

// Unmapped memory is neither a frame nor a fault.
TEST(PythonOffsets, AThreadThatHasEndedHasNoFrames) {
  struct sonde_agent agent = {};
  agent.define_code = define_code;
  find_python(&agent);
  static PythonStack stack;
  walk_python_of(&agent, 0x10000, stack);
  EXPECT_EQ(stack.frame_count, 0u);
  Object thread;
  thread.put(kFrameOfThread, uint64_t{0x20000});
  walk_python_of(&agent, thread.address(), stack);
  EXPECT_EQ(stack.frame_count, 0u);
}

// An interpreter shows what it has not filled in yet: CPython 3.11 and 3.12 a piece of the C stack,
// which holds what was there before.
TEST(PythonOffsets, AThreadWhoseFrameIsNotFilledInHasNoFramesAndNoFault) {
  struct sonde_agent agent = {};
  agent.define_code = define_code;
  find_python(&agent);
  static PythonStack stack;
  Object thread;
  thread.put(kFrameOfThread, uint64_t{0x20000});
  g_this_thread = thread.address();
  walk_python(&agent, {}, stack);
  EXPECT_EQ(stack.frame_count, 0u);
}

}  // namespace
}  // namespace sonde::cpu

uint64_t _PyRuntime[sonde::cpu::kRuntimeWords] = {};
SONDE_FAKE const char* Py_GetVersion() { return "3.14.1 (made up)"; }
SONDE_FAKE void _PyEval_EvalFrameDefault() {}
SONDE_FAKE void* PyGILState_GetThisThreadState() {
  return reinterpret_cast<void*>(sonde::cpu::g_this_thread);
}

namespace {
[[maybe_unused]] const bool g_described = [] {
  const auto words = sonde::cpu::description();
  std::memcpy(_PyRuntime, words.data(), words.size() * sizeof words[0]);
  return true;
}();
}  // namespace
