// rocprim: sorts, scans, reduces and selects with AMD's templates, compiled here but written
// elsewhere, and compares with the standard library.
#include <hip/hip_runtime.h>
#include <rocprim/rocprim.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "checks.h"

namespace {

// Each algorithm is first asked for the size of its temporary storage.
template <class F>
void run(const char* what, F algorithm) {
  size_t bytes = 0;
  require(algorithm(nullptr, bytes), what);
  const OnDevice<char> memory(bytes);
  require(algorithm(memory.p, bytes), what);
}

template <class T>
void expect_equal(const char* what, size_t size, const std::vector<T>& got,
                  const std::vector<T>& wanted) {
  ++checks;
  if (got == wanted) return;
  ++failures;
  std::printf("%s of %zu is wrong\n", what, size);
}

void check_all(size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<unsigned> keys(size), order(size), flags(size);
  for (unsigned& key : keys) key = static_cast<unsigned>(random()) % 5000 << 8;
  for (unsigned& flag : flags) flag = random() % 3 == 0;
  std::iota(order.begin(), order.end(), 0u);
  const OnDevice<unsigned> d_keys(keys), d_order(order), d_flags(flags), out(size), out_order(size),
      count(1);

  run("radix_sort_pairs", [&](void* memory, size_t& bytes) {
    return rocprim::radix_sort_pairs(memory, bytes, d_keys.p, out.p, d_order.p, out_order.p, size);
  });
  std::vector<unsigned> sorted(order), sorted_keys(keys);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });
  std::sort(sorted_keys.begin(), sorted_keys.end());
  expect_equal("keys of radix_sort_pairs", size, out.get(size), sorted_keys);
  expect_equal("values of radix_sort_pairs", size, out_order.get(size), sorted);

  run("inclusive_scan", [&](void* memory, size_t& bytes) {
    return rocprim::inclusive_scan(memory, bytes, d_keys.p, out.p, size, rocprim::plus<unsigned>());
  });
  std::vector<unsigned> sums(size);
  std::partial_sum(keys.begin(), keys.end(), sums.begin());
  expect_equal("inclusive_scan", size, out.get(size), sums);

  run("reduce", [&](void* memory, size_t& bytes) {
    return rocprim::reduce(memory, bytes, d_keys.p, out.p, 0u, size, rocprim::maximum<unsigned>());
  });
  expect_equal("reduce", size, out.get(1), {*std::max_element(keys.begin(), keys.end())});

  run("select", [&](void* memory, size_t& bytes) {
    return rocprim::select(memory, bytes, d_keys.p, d_flags.p, out.p, count.p, size);
  });
  std::vector<unsigned> chosen;
  for (size_t i = 0; i < size; ++i) {
    if (flags[i]) chosen.push_back(keys[i]);
  }
  expect_equal("select", size, out.get(count.get(1)[0]), chosen);
}

}  // namespace

int main() {
  for (const size_t size : {1u, 100u, 3000u, 100'000u}) check_all(size);
  return report();
}
