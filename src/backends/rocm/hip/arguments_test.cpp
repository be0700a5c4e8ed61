// Arguments packed by the types of a function, compared with those packed by the parameters in
// functions.inc.
#include "backends/rocm/hip/arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <type_traits>

#include "backends/rocm/connection.h"

namespace sonde::rocm {
const Agent* g_agent;  // the library's is in load.cpp, which is not linked here
}

namespace sonde::hip {
namespace {

// A value with different bytes at each call; in some the highest bits are set.
template <typename Value>
Value next_value(uint8_t* seed) {
  Value value;
  if constexpr (std::is_same_v<Value, F>) {
    value = -1.5F * static_cast<F>((*seed)++);
  } else {
    uint8_t bytes[sizeof value];
    for (uint8_t& byte : bytes) byte = *seed += 37;
    memcpy(&value, bytes, sizeof value);
  }
  return value;
}

// Whether the function shows values only.
template <typename... A>
bool compare(const char* name, const char* parameters, int (*)(A...)) {
  uint8_t seed = 1;
  FunctionInfo function = {};
  function.count = static_cast<uint8_t>(parse_parameters(parameters, function.parameters));
  if (!shows_values(function.parameters, function.count)) return false;
  const std::tuple<A...> values{next_value<A>(&seed)...};
  struct {
    alignas(16) char image[kImageBytes];
    char behind[2048] = {};
  } stored;
  uint64_t words[kMaxParameters * kMostWords];
  size_t count = 0;
  std::apply(
      [&](A... value) {
        store_parameters(function, stored.image, value...);
        count = pack_values(words, value...);
      },
      values);
  sonde_args args;
  args.count = 0;
  pack_all(&args, function, stored.image, 0);
  EXPECT_TRUE(std::all_of(std::begin(stored.behind), std::end(stored.behind), [](char byte) {
    return byte == 0;
  })) << name;
  EXPECT_EQ(count, args.count) << name;
  EXPECT_TRUE(std::equal(words, words + count, args.words, args.words + args.count)) << name;
  return true;
}

static_assert(layout_of("prop:p/1472 device:i", false).bytes == 1484);
static_assert(layout_of("prop:p/792/1472 device:i", true).bytes == 1484);
static_assert(kImageBytes >= 1484);
template <Function Id, typename... A>
constexpr bool kTakes = std::is_same_v<Signature<Id>, int(A...)>;
static_assert(kTakes<k_hipCtxSynchronize>);
static_assert(kTakes<k___hipPushCallConfiguration, D, D, W, P>);
static_assert(kTakes<k_hipMemset3DAsync, T, I, E, P>);
static_assert(kTakes<k_hipMemsetD2D8, P, W, B, W, W>);
static_assert(kTakes<k_hipMemsetD2D16, P, W, H, W, W>);
static_assert(kTakes<k_hipMemAdvise_v2, P, W, I, Struct<8>>);
static_assert(kTakes<k_hipCtxCreate, P, U, I>);
static_assert(kTakes<k_hipTexRefSetMipmapLevelBias, P, F>);
static_assert(kTakes<k_hipMallocPitch, P, P, W, W>);
static_assert(kTakes<k_hipTexRefGetMipmapLevelBias, P, P>);

TEST(Arguments, OfEveryFunctionAreTheSameByTypeAndByDescription) {
  size_t compared = 0;
#define X(id, place, name, category, weight, count, parameters) \
  compared += compare(#name, parameters, static_cast<Signature<k_##name>*>(nullptr));
#include "backends/rocm/hip/functions.inc"
#undef X
  EXPECT_GT(compared, 200U);
}

}  // namespace
}  // namespace sonde::hip
