// Stacks of a program and of the runtime.
#include "fault/stacks.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

namespace sonde::fault {
namespace {

// The stack of main(), which called into the runtime, and the call's name, if it was known.
NamedStack named(const char* inner, const char* call,
                 const char* runtime = "/opt/rocm/lib/libamdhip64.so.6") {
  Board board;
  board.modules[0] = {.path = runtime};
  board.modules[1] = {.path = "/srv/program"};
  wire::BoardStack stack = {};
  std::snprintf(stack.call, sizeof stack.call, "%s", call);
  constexpr char kFrames[] = {0 << 1, 8, 1 << 1, 8};  // module, offset
  std::memcpy(stack.frames, kFrames, sizeof kFrames);
  stack.bytes = sizeof kFrames;
  return name_stack(stack, board, [inner](const std::string& path, const std::string&, uint64_t) {
    const bool is_runtime = path.find("/opt/rocm") != path.npos;
    return std::vector<store::FrameName>{{.function = is_runtime ? inner : "main"}};
  });
}

TEST(Stacks, TheCallIsTheRuntimesFunction) {
  const NamedStack stack = named("hipMalloc", "");
  EXPECT_EQ(stack.call, "hipMalloc");
  ASSERT_EQ(stack.frames.size(), 1U);
  EXPECT_EQ(stack.frames[0].function, "main");
}

TEST(Stacks, TheCallIsWhatWasCalledWhateverTheRuntimeCallsItsFunction) {
  EXPECT_EQ(named("libamdhip64.so.6+0x1d60b0", "hipMalloc").call, "hipMalloc");
  const std::string longest(sizeof(wire::BoardStack::call) - 1, 'x');
  EXPECT_EQ(named("f", (longest + "yz").c_str()).call, longest);
}

TEST(Stacks, ACallOfHsaIsNotTheLastOneOfHip) {
  EXPECT_EQ(
      named("hsa_amd_memory_pool_allocate", "hipMemcpy", "/opt/rocm/lib/libhsa-runtime64.so.1")
          .call,
      "hsa_amd_memory_pool_allocate");
}

}  // namespace
}  // namespace sonde::fault
