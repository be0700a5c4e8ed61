// The arguments of a call: where they lie in the data of HIP's callbacks, and as the words that
// write_formats() describes. Used by calls.cpp and by code that has the arguments themselves.
#pragma once

#include <string.h>

#include <initializer_list>
#include <type_traits>

#include "backends/rocm/connection.h"
#include "backends/rocm/hip/functions.h"
#include "backends/rocm/hip/signatures.h"

namespace sonde::hip {

// For any call; dereferences output pointers only if the call has succeeded and so has set the
// targets.
void pack_all(struct sonde_args* args, const FunctionInfo& function, const char* data, int result);

// Room for the data of any call, in any version.
constexpr size_t most_bytes() {
  size_t most = 0;
  for (const char* text : {
#define X(id, place, name, category, weight, count, parameters) parameters,
#include "backends/rocm/hip/functions.inc"
#undef X
       }) {
    for (const bool newer : {false, true}) {
      const size_t bytes = layout_of(text, newer).bytes;
      if (most < bytes) most = bytes;
    }
  }
  return most;
}
constexpr size_t kImageBytes = most_bytes();

template <typename... A>
void store_parameters(const FunctionInfo& function, char* image, A... values) {
  size_t i = 0;
  (..., memcpy(image + function.parameters[i++].offset, &values, sizeof values));
}

constexpr size_t kMostWords = 3;
inline uint64_t* pack_value(uint64_t* to, P value) {
  memcpy(to, &value, sizeof value);
  return to + 1;
}
template <typename Integer>  // by size and signedness: I, U, W, H, B
requires std::is_integral_v<Integer> uint64_t* pack_value(uint64_t* to, Integer value) {
  *to = static_cast<uint64_t>(value);
  return to + 1;
}
inline uint64_t* pack_value(uint64_t* to, F value) {
  const double wide = value;
  memcpy(to, &wide, sizeof wide);
  return to + 1;
}
inline uint64_t* pack_value(uint64_t* to, D value) {
  to[0] = value.x;
  to[1] = value.y;
  to[2] = value.z;
  return to + 3;
}
inline uint64_t* pack_value(uint64_t* to, E value) {
  memcpy(to, &value, sizeof value);
  return to + 3;
}
inline uint64_t* pack_value(uint64_t* to, T value) {
  to[0] = value.pointer;
  to[1] = value.pitch;
  return to + 2;
}
template <int Size>
uint64_t* pack_value(uint64_t* to, Struct<Size>) {
  return to;
}

// The words of a function that is `by_value`: the same as pack_all() produces, without looking at
// each parameter's kind.
template <typename... A>
size_t pack_values(uint64_t* words, A... values) {
  uint64_t* next = words;
  (..., (next = pack_value(next, values)));
  return static_cast<size_t>(next - words);
}

}  // namespace sonde::hip
