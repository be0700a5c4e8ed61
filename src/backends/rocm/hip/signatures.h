// The types as which the parameters of functions.inc are passed, and the type of each function.
// Structs have the size and class of the originals. Used by exports.cpp and table.cpp.
#pragma once

#include <stdint.h>

#include <tuple>
#include <type_traits>
#include <utility>

#include "backends/rocm/hip/functions.h"
#include "backends/rocm/hip/parameters.h"

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

// By Kind; a kStruct has the size that its text says.
using Types = std::tuple<P, P, I, P, U, P, W, P, I, F, P, H, B, P, D, E, T, void>;

// Read by the compiler alone: the library has no pointers to texts (functions.cpp).
constexpr const char* kParameters[] = {
#define X(id, place, name, category, weight, count, parameters) parameters,
#include "backends/rocm/hip/functions.inc"
#undef X
};

template <Function Id, size_t Index>
struct Passed {
  static constexpr Token kToken = token_at(kParameters[Id], Index);
  static constexpr Kind kKind = kind_of(kToken.letter);
  using Type = std::conditional_t<kKind == Kind::kStruct, Struct<kToken.number>,
                                  std::tuple_element_t<static_cast<size_t>(kKind), Types>>;
  static_assert(sizeof(Type) == size_of(kToken).bytes);
};

template <Function Id, typename Indices>
struct Typed;
template <Function Id, size_t... Index>
struct Typed<Id, std::index_sequence<Index...>> {
  using Signature = int(typename Passed<Id, Index>::Type...);
};
template <Function Id>
using Signature =
    typename Typed<Id,
                   std::make_index_sequence<layout_of(kParameters[Id], false).count>>::Signature;

}  // namespace sonde::hip
