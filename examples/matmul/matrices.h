// The host's part of the matrix product, the same for every example: sizes from the command line,
// random matrices, and a check of the result against double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace matrices {

struct Sizes {
  size_t m = 1000, k = 500, n = 500;  // A is m x k, B is k x n
};

struct Problem {
  Sizes sizes;
  std::vector<float> a, b;
  std::vector<float> c;  // to be computed; NaN until then
};

inline std::vector<float> random_matrix(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> matrix(count);
  std::generate(matrix.begin(), matrix.end(), [&] { return uniform(random); });
  return matrix;
}

// The largest error of a sample of C, in units of what float rounding of a sum of k products
// allows.
inline double sampled_error(const Problem& problem, std::mt19937& random) {
  const auto& [sizes, a, b, c] = problem;
  constexpr int kSamples = 1000;
  double worst = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    // The corners first: that is where a wrong edge of the tiling shows.
    const size_t row = sample < 4 ? (sample & 1) * (sizes.m - 1) : random() % sizes.m;
    const size_t column = sample < 4 ? (sample >> 1) * (sizes.n - 1) : random() % sizes.n;
    double sum = 0;
    double magnitude = 0;
    for (size_t i = 0; i < sizes.k; ++i) {
      const double product = static_cast<double>(a[row * sizes.k + i]) * b[i * sizes.n + column];
      sum += product;
      magnitude += std::fabs(product);
    }
    const double allowed = magnitude * static_cast<double>(sizes.k) * 0x1p-24 + 1e-30;
    worst = std::max(worst, std::fabs(sum - c[row * sizes.n + column]) / allowed);
  }
  return worst;
}

inline bool read_size(const char* text, size_t& size) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  size = value;
  return *text != '\0' && *end == '\0' && value >= 1 && value <= 30000;
}

inline bool parse(int argc, char** argv, Sizes& sizes) {
  for (int i = 1; i < argc; i += 2) {
    size_t* size = nullptr;
    if (std::strcmp(argv[i], "--m") == 0) size = &sizes.m;
    if (std::strcmp(argv[i], "--k") == 0) size = &sizes.k;
    if (std::strcmp(argv[i], "--n") == 0) size = &sizes.n;
    if (size == nullptr || i + 1 >= argc || !read_size(argv[i + 1], *size)) return false;
  }
  return true;
}

// Parses the command line and fills A and B. `name` is the program's, for its usage line.
inline bool make_problem(int argc, char** argv, const char* name, Problem& problem) {
  if (!parse(argc, argv, problem.sizes)) {
    std::fprintf(stderr,
                 "usage: %s [--m ROWS_OF_A] [--k COLUMNS_OF_A] [--n COLUMNS_OF_B], "
                 "each from 1 to 30000\n",
                 name);
    return false;
  }
  const Sizes& sizes = problem.sizes;
  std::mt19937 random(1);
  problem.a = random_matrix(sizes.m * sizes.k, random);
  problem.b = random_matrix(sizes.k * sizes.n, random);
  problem.c.assign(sizes.m * sizes.n, NAN);
  return true;
}

// Prints what was computed in `seconds` and whether it is right. Returns the exit status.
inline int judge(const Problem& problem, double seconds) {
  const Sizes& sizes = problem.sizes;
  std::mt19937 random(2);
  const double gflop = 2e-9 * static_cast<double>(sizes.m) * static_cast<double>(sizes.k) *
                       static_cast<double>(sizes.n);
  // NaN, which C is filled with before, must not pass: hence not `error > 1`.
  const bool good = sampled_error(problem, random) <= 1.0;
  std::printf(
      "A %zu x %zu, B %zu x %zu: %.2f GFLOP in %.3f s with copies, %.2f GFLOP/s; check %s\n",
      sizes.m, sizes.k, sizes.k, sizes.n, gflop, seconds, gflop / seconds,
      good ? "passed" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace matrices
