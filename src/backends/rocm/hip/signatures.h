// The parameter types of functions.inc, and macros that turn a list of them into the parameters of
// a function. Structs have the size and class of the originals. Used by exports.cpp and table.cpp.
#pragma once

#include <stdint.h>

namespace sonde::hip {

using P = void*;
using I = int32_t;
using U = uint32_t;
using W = uint64_t;
using H = uint16_t;
using B = uint8_t;
using F = float;
struct D {
  uint32_t x, y, z;
};
struct E {
  uint64_t width, height, depth;
};
struct T {
  uint64_t pointer, pitch, width, height;
};
template <int Size>
struct Struct {
  char bytes[Size];
};

}  // namespace sonde::hip
