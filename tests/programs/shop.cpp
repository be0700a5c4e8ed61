// Burns CPU time in functions whose names are scoped: of a class in an unnamed namespace, one that
// is inlined into it, and a public one that calls it. shop [MILLISECONDS]
#include <stdint.h>
#include <stdlib.h>

#include "cpu_clock.h"

#define APART __attribute__((noinline, noclone))

namespace shop {
namespace {

struct Tax {
  __attribute__((always_inline)) static uint64_t of(uint64_t price) {
    volatile uint64_t sum = price;
    for (int i = 0; i < 2000; ++i) sum = sum * 6364136223846793005 + 1;
    return sum;
  }
};

class Cart {
 public:
  APART uint64_t total(int items) {
    volatile uint64_t sum = 1;
    for (int i = 0; i < items * 2000; ++i) sum = (sum ^ i) * 0x9E3779B97F4A7C15;
    return sum + Tax::of(sum);
  }
};

}  // namespace

APART uint64_t checkout(int items) {
  Cart cart;
  return cart.total(items) + 1;
}

}  // namespace shop

int main(int argc, char** argv) {
  const int64_t end = (argc > 1 ? atoll(argv[1]) : 1000) * 1000000;
  uint64_t sum = 0;
  while (cpu_ns() < end) sum += shop::checkout(1);
  return sum == 0;
}
