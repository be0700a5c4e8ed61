// What the generated kernels and the host programs that check them have in common.
#pragma once

#include <stdint.h>

#ifdef __HIP__
#define BOTH __device__ inline
#else
#define BOTH inline
#endif

// Converts a float that may be out of range, or NaN.
template <class T, class F>
BOTH T to_int(F v) {
  if (!(v > F(-100))) return T(1);
  if (v > F(100)) return T(2);
  return T(int(v));
}

// LLVM 15's bugs affect GPU code, too. It cannot see through a value loaded from memory.
template <class T>
BOTH T unseen(T value) {
  volatile T kept = value;
  return kept;
}

// LLVM forgets to set the upper half of a 64-bit number that was zero-extended, xor-ed with a
// constant whose upper half is all ones, and or-ed with another.
template <class T>
BOTH T flip(T a, T b) {
  return unseen(a) ^ b;
}

// LLVM divides unsigned numbers that were sign-extended as if they had few bits (64-bit -1 by 85 as
// 2^32 by 85). And it never terminates (SI Fold Operands) if a 64-bit number is divided by one
// whose upper half it knows, for instance after an or with a constant.
template <class T, char kOperation>
BOTH T divide(T dividend, T divisor) {
  const T a = unseen(dividend), b = sizeof(T) == 8 ? unseen(divisor) : divisor;
  if (b == T(0) || (T(-1) < T(0) && b == T(-1))) return a;
  return kOperation == '/' ? T(a / b) : T(a % b);
}

// g++ 12 computes 0.0 - double(int) as -double(int), which for 0 gives -0 instead of 0. Passing
// parameters hides where their values come from.
template <class F>
BOTH F f_sub(F a, F b) {
  return a - b;
}

// NaN has many encodings; they are compared as one.
BOTH uint64_t bits_of(float v) {
  uint32_t bits;
  __builtin_memcpy(&bits, &v, 4);
  return v != v ? 0x7fc00000u : bits;
}
BOTH uint64_t bits_of(double v) {
  uint64_t bits;
  __builtin_memcpy(&bits, &v, 8);
  return v != v ? 0x7ff8000000000000ull : bits;
}
template <class T>
BOTH uint64_t bits_of(T v) {
  return uint64_t(v);
}
