#include "backends/cpu/reading.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace sonde::cpu {
namespace {

// Two pages filled with 0x11, then an unmapped one.
class Pages {
 public:
  Pages()
      : at_(static_cast<char*>(
            mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    memset(at_, 0x11, size_t{2} * 4096);
    munmap(at_ + 2 * 4096, 4096);
  }
  ~Pages() { munmap(at_, 2 * 4096); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint64_t address() const { return reinterpret_cast<uint64_t>(at_); }
  uint64_t end() const { return address() + 2 * 4096; }

 private:
  char* const at_;
};

constexpr uint64_t kThere = 0x1111111111111111;

void expect_bounds_are_kept(Reading& memory, const Pages& pages) {
  char room[64];
  for (int round = 0; round < 2; ++round) {  // the second round uses the page cache
    EXPECT_EQ(memory.at<uint64_t>(pages.address(), 8), kThere);
    EXPECT_EQ(memory.at<uint64_t>(pages.address(), 4092), kThere) << "of two pages";
    EXPECT_EQ(memory.at<uint64_t>(pages.end(), -uint64_t{8}), kThere);
    EXPECT_EQ(memory.at<uint64_t>(pages.end(), -uint64_t{4}), 0u);
    EXPECT_EQ(memory.at<uint32_t>(pages.end(), 0), 0u);
    EXPECT_EQ(memory.at<uint32_t>(0, 64), 0u);
    const char* const object = memory.look_at(pages.end() - 64, 64, room);
    ASSERT_NE(object, nullptr);
    EXPECT_EQ(field<uint64_t>(object, 56), kThere);
    EXPECT_EQ(memory.look_at(pages.end() - 60, 64, room), nullptr);
    EXPECT_EQ(memory.look_at(pages.end(), 64, room), nullptr);
    EXPECT_EQ(memory.look_at(0, 64, room), nullptr);
  }
}

TEST(Reading, WhatIsNotThereIsNotRead) {
  const Pages pages;
  Reading memory{StackBounds()};
  expect_bounds_are_kept(memory, pages);
  Reading another = Reading::of_another();
  expect_bounds_are_kept(another, pages);
}

// The first and last page of the stack are only partly in use.
TEST(Reading, APartOfTheStackIsReadAndNoMoreThanThat) {
  const Pages pages;
  Reading memory({pages.address() + 4000, pages.end() - 4000});
  expect_bounds_are_kept(memory, pages);
  Reading stack_before({pages.address(), pages.end()});
  expect_bounds_are_kept(stack_before, pages);
}

TEST(Reading, KnownPagesAreToldFromOthersInTheirPlace) {
  const Pages pages;
  Reading memory{StackBounds()};
  EXPECT_EQ(memory.at<uint64_t>(pages.address(), 0), kThere);
  for (uint64_t away = 1; away < 300; ++away) {  // some of them share the first one's cache slot
    memory.at<uint64_t>(pages.address() + away * 64 * 4096 * 1024, 0);
    EXPECT_EQ(memory.at<uint64_t>(pages.address(), 0), kThere);
  }
}

// Their addresses differ by what shares a slot of the cache: each would be asked for again.
TEST(Reading, AChunkAndTheStackTakeNoPlaceOfOtherPages) {
  constexpr uint64_t kAway = uint64_t{64} * 4096;
  char* const at = static_cast<char*>(
      mmap(nullptr, 2 * kAway + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const auto object = reinterpret_cast<uint64_t>(at), chunk = object + kAway, stack = chunk + kAway;
  Reading memory({stack, stack + 4096});
  memory.know_chunk({chunk, chunk + 4096});
  EXPECT_NE(memory.look_at(object, 64, nullptr), nullptr);
  mprotect(at, 2 * kAway + 4096,
           PROT_NONE);  // from here on, who asks is told that nothing is there
  EXPECT_NE(memory.look_at(chunk + 4032, 64, nullptr), nullptr);
  EXPECT_NE(memory.look_at(stack, 64, nullptr), nullptr);
  EXPECT_NE(memory.look_at(object, 64, nullptr), nullptr);
  EXPECT_EQ(memory.look_at(chunk + 4040, 64, nullptr), nullptr) << "beyond its end";
  EXPECT_EQ(memory.look_at(object + 4096, 64, nullptr), nullptr);
  munmap(at, 2 * kAway + 4096);
}

}  // namespace
}  // namespace sonde::cpu
