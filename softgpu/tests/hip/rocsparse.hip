// rocsparse: multiplies and sorts sparse matrices with AMD's library, as packaged by Debian, and
// compares with the host's results. The library is the system's; no part of it is built here. All
// numbers are small integers, so that sums are exact in any order.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "checks.h"

namespace {

void* library = nullptr;
constexpr int kPlain = 111, kTransposed = 112;  // rocsparse_operation

template <class... Arguments>
void call(const char* name, Arguments... arguments) {
  auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  const int status = function != nullptr ? function(arguments...) : -1;
  if (status == 0) return;
  std::fprintf(stderr, "%s: status %d\n", name, status);
  std::exit(1);
}

template <class T>
void expect_equal(const char* what, const std::vector<T>& got, const std::vector<T>& wanted) {
  ++checks;
  if (got == wanted) return;
  ++failures;
  const auto at = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
  std::printf("%s: wrong at %td of %zu\n", what, at, got.size());
}

// Row lengths vary widely, since the library chooses its kernels by them.
struct Matrix {
  int rows, columns;
  std::vector<int> row_begin{0}, column;

  Matrix(int rows_, int columns_, int longest, unsigned seed) : rows(rows_), columns(columns_) {
    std::mt19937 random(seed);
    for (int row = 0; row < rows; ++row) {
      const int count = row % 97 == 5 ? longest : static_cast<int>(random() % 9);
      std::vector<int> chosen(static_cast<size_t>(std::min(count, columns)));
      for (int& each : chosen) each = static_cast<int>(random() % static_cast<unsigned>(columns));
      std::sort(chosen.begin(), chosen.end());
      chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
      column.insert(column.end(), chosen.begin(), chosen.end());
      row_begin.push_back(static_cast<int>(column.size()));
    }
  }
  int count() const { return static_cast<int>(column.size()); }
};

template <class T>
std::vector<T> numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> made(count);
  for (T& each : made) each = static_cast<T>(static_cast<int>(random() % 17) - 8);
  return made;
}

struct Library {
  void *handle = nullptr, *descriptor = nullptr, *info = nullptr;
  Library() {
    call("rocsparse_create_handle", &handle);
    call("rocsparse_create_mat_descr", &descriptor);
    call("rocsparse_create_mat_info", &info);
  }
};

// y = 3 A x - 2 y, with and without the library's prior analysis of A.
template <class T>
void multiply_vector(const Library& lib, const Matrix& a, const char* multiply,
                     const char* analyse) {
  const auto values = numbers<T>(a.column.size(), 1);
  const auto x = numbers<T>(static_cast<size_t>(a.columns), 2);
  const auto y = numbers<T>(static_cast<size_t>(a.rows), 3);
  std::vector<T> wanted(y.size());
  for (int row = 0; row < a.rows; ++row) {
    T sum = 0;
    for (int i = a.row_begin[row]; i < a.row_begin[row + 1]; ++i) sum += values[i] * x[a.column[i]];
    wanted[row] = 3 * sum - 2 * y[row];
  }
  const OnDevice<T> d_values(values), d_x(x);
  const OnDevice<int> d_begin(a.row_begin), d_column(a.column);
  const T alpha = 3, beta = -2;
  for (const bool is_analysed : {false, true}) {
    const OnDevice<T> d_y(y);
    const auto* v = static_cast<const T*>(d_values.p);
    const auto* b = static_cast<const int*>(d_begin.p);
    const auto* c = static_cast<const int*>(d_column.p);
    if (is_analysed)
      call(analyse, lib.handle, kPlain, a.rows, a.columns, a.count(), lib.descriptor, v, b, c,
           lib.info);
    void* const info = is_analysed ? lib.info : nullptr;
    call(multiply, lib.handle, kPlain, a.rows, a.columns, a.count(), &alpha, lib.descriptor, v, b,
         c, info, static_cast<const T*>(d_x.p), &beta, d_y.p);
    expect_equal(multiply, d_y.get(), wanted);
  }
  call("rocsparse_csrmv_clear", lib.handle, lib.info);
}

// C = 2 A B + C, B given by columns or by rows.
template <class T>
void multiply_matrix(const Library& lib, const Matrix& a, const char* multiply, int columns) {
  const auto values = numbers<T>(a.column.size(), 4);
  const size_t inner = static_cast<size_t>(a.columns), n = static_cast<size_t>(columns),
               m = static_cast<size_t>(a.rows);
  const auto b = numbers<T>(inner * n, 5);
  const auto c = numbers<T>(m * n, 6);
  const OnDevice<T> d_values(values), d_b(b);
  const OnDevice<int> d_begin(a.row_begin), d_column(a.column);
  const T alpha = 2, beta = 1;
  for (const int how : {kPlain, kTransposed}) {
    const bool is_plain = how == kPlain;
    std::vector<T> wanted(c);
    for (size_t row = 0; row < m; ++row) {
      for (size_t j = 0; j < n; ++j) {
        T sum = 0;
        for (int i = a.row_begin[row]; i < a.row_begin[row + 1]; ++i) {
          const auto k = static_cast<size_t>(a.column[i]);
          sum += values[i] * (is_plain ? b[k + j * inner] : b[j + k * n]);
        }
        wanted[row + j * m] += 2 * sum;
      }
    }
    const OnDevice<T> d_c(c);
    call(multiply, lib.handle, kPlain, how, a.rows, columns, a.columns, a.count(), &alpha,
         lib.descriptor, static_cast<const T*>(d_values.p), static_cast<const int*>(d_begin.p),
         static_cast<const int*>(d_column.p), static_cast<const T*>(d_b.p),
         is_plain ? a.columns : columns, &beta, d_c.p, a.rows);
    expect_equal(multiply, d_c.get(), wanted);
  }
}

void sort_columns(const Library& lib, const Matrix& a) {
  std::vector<int> shuffled(a.column), order(a.column.size());
  std::mt19937 random(7);
  for (int row = 0; row < a.rows; ++row)
    std::shuffle(shuffled.begin() + a.row_begin[row], shuffled.begin() + a.row_begin[row + 1],
                 random);
  const OnDevice<int> d_begin(a.row_begin), d_column(shuffled), d_order(order);
  size_t bytes = 0;
  call("rocsparse_csrsort_buffer_size", lib.handle, a.rows, a.columns, a.count(),
       static_cast<const int*>(d_begin.p), static_cast<const int*>(d_column.p), &bytes);
  const OnDevice<char> buffer(bytes);
  call("rocsparse_create_identity_permutation", lib.handle, a.count(), d_order.p);
  call("rocsparse_csrsort", lib.handle, a.rows, a.columns, a.count(),
       static_cast<const void*>(lib.descriptor), static_cast<const int*>(d_begin.p), d_column.p,
       d_order.p, static_cast<void*>(buffer.p));
  expect_equal("csrsort", d_column.get(), a.column);
  const std::vector<int> found = d_order.get();
  for (size_t i = 0; i < found.size(); ++i) order[i] = shuffled[static_cast<size_t>(found[i])];
  expect_equal("order of csrsort", order, a.column);
}

}  // namespace

int main() {
  for (const char* name : {"librocsparse.so.1", "librocsparse.so.0"})
    if (library == nullptr) library = dlopen(name, RTLD_NOW);
  if (library == nullptr) return 77;
  const Library lib;
  for (const Matrix& a :
       {Matrix(1000, 800, 700, 1), Matrix(300, 2000, 1900, 2), Matrix(64, 64, 3, 3)}) {
    multiply_vector<float>(lib, a, "rocsparse_scsrmv", "rocsparse_scsrmv_analysis");
    multiply_vector<double>(lib, a, "rocsparse_dcsrmv", "rocsparse_dcsrmv_analysis");
    multiply_matrix<float>(lib, a, "rocsparse_scsrmm", 20);
    multiply_matrix<double>(lib, a, "rocsparse_dcsrmm", 5);
    sort_columns(lib, a);
  }
  return report();
}
