// The runtime is that of python_test.cpp, whose last words are for the state of a thread.
#include "backends/cpu/python_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <vector>

#include "backends/cpu/python_runtime_test_support.h"

namespace sonde::cpu {
namespace {

constexpr uint64_t kFrame = 16, kChunk = 24;  // in the state, and the frame in a cframe

PythonLayout layout_of(uint16_t chunk, uint16_t cframe_frame) {
  PythonLayout layout = {};
  layout.thread_frame = kFrame;
  layout.thread_chunk = chunk;
  layout.cframe_frame = cframe_frame;
  return layout;
}

uint64_t address_of(const void* object) { return reinterpret_cast<uint64_t>(object); }

// A chunk that can be hidden, so that the kernel would deny it, and the state of its thread.
class Interpreter {
 public:
  explicit Interpreter(const PythonLayout& layout) : layout_(layout) {
    chunk_[1] = kLeastChunk;
    set(kChunk, address_of(chunk_));
    set_frame(address_of(chunk_) + 3000);
    find_runtime();
  }
  ~Interpreter() { munmap(chunk_, kLeastChunk + 4096); }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  void set_size(uint64_t bytes) { chunk_[1] = bytes; }
  void set(uint64_t offset, uint64_t value) { state()[offset / 8] = value; }
  void set_frame(uint64_t frame) {
    cframe_[1] = frame;
    set(kFrame, layout_.cframe_frame == kDirect ? frame : address_of(cframe_.data()));
  }
  void look() {
    Reading memory{StackBounds()};
    look_for_chunk(layout_, memory, address_of(state()));
  }
  // How many of the chunk's pages and of the one behind it are known without asking.
  int known_pages(uint64_t thread) {
    Reading memory{StackBounds()};
    mprotect(chunk_, kLeastChunk + 4096, PROT_NONE);
    know_own_pages(layout_, memory, thread);
    int known = 0;
    for (uint64_t at = 0; at <= kLeastChunk; at += 4096) {
      known += memory.look_at(address_of(chunk_) + at, 64, nullptr) != nullptr ? 1 : 0;
    }
    mprotect(chunk_, kLeastChunk + 4096, PROT_READ | PROT_WRITE);
    return known;
  }
  int known_pages() { return known_pages(address_of(state())); }

 private:
  static uint64_t* state() { return _PyRuntime + kOffsetWords; }

  const PythonLayout layout_;
  std::array<uint64_t, 2> cframe_ = {};
  uint64_t* const chunk_ = static_cast<uint64_t*>(mmap(
      nullptr, kLeastChunk + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

TEST(PythonPages, OfTheChunkOfTheFirstThreadAreKnownOnceAFrameWasFoundThere) {
  for (const uint16_t cframe_frame : {kDirect, uint16_t{8}}) {
    Interpreter python(layout_of(kChunk, cframe_frame));
    python.set_frame(0);
    python.look();
    EXPECT_EQ(python.known_pages(), 0);
    python.set_frame(address_of(_PyRuntime));
    python.look();
    EXPECT_EQ(python.known_pages(), 0) << "an object of its own, like that of a generator";
    Interpreter sound(layout_of(kChunk, cframe_frame));
    sound.look();
    EXPECT_EQ(sound.known_pages(), 4);
  }
}

TEST(PythonPages, AreAskedForWhereTheChunkIsNotWhatItShouldBe) {
  Interpreter small(layout_of(kChunk, kDirect));
  small.set_size(kLeastChunk - 8);
  small.look();
  EXPECT_EQ(small.known_pages(), 0);
  Interpreter without(layout_of(0, kDirect));
  without.look();
  EXPECT_EQ(without.known_pages(), 0);
}

TEST(PythonPages, OfOtherThreadsAndOfNoChunkAreAskedFor) {
  Interpreter python(layout_of(kChunk, kDirect));
  python.look();
  EXPECT_EQ(python.known_pages(), 4);
  std::vector<uint64_t> another(_PyRuntime + kOffsetWords, _PyRuntime + kRuntimeWords);
  EXPECT_EQ(python.known_pages(address_of(another.data())), 0);
  // AddressSanitizer's runtime is longer than its array.
  EXPECT_EQ(python.known_pages(extent_of(_PyRuntime).high - 16), 0) << "not all of it";
  python.set(kChunk, 0);
  EXPECT_EQ(python.known_pages(), 0);
  python.set(kChunk, another[kChunk / 8] + 8);
  EXPECT_EQ(python.known_pages(), 0) << "no page begins there";
}

}  // namespace
}  // namespace sonde::cpu
