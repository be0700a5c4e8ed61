// needs: libunwind.h
// link: sonde_cpu_parts unwind
// What a call stack costs, in CPU time a frame: the sampler's unwinder with what it remembers and
// the first time, glibc's backtrace(), and libunwind, on the same stack of 40 frames and more, of
// functions of several shapes and through libc.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <time.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>

#include "backends/cpu/modules.h"
#include "backends/cpu/unwind.h"

#define APART __attribute__((noinline, noclone))

namespace {

using namespace sonde::cpu;

double cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

StackBounds bounds_here() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<uint64_t>(low), reinterpret_cast<uint64_t>(low) + bytes};
}

template <typename Once>
void measure(const char* name, int rounds, const char* extra, Once&& once) {
  int frames = once();
  const double begin = cpu_ns();
  for (int i = 0; i < rounds; ++i) frames = once();
  const double each = (cpu_ns() - begin) / rounds / frames;
  std::printf(
      "{\"name\": \"%s\", \"value\": %.1f, \"unit\": \"ns a frame\"%s, \"note\": \"%d frames\"}\n",
      name, each, extra, frames);
}

int by_libunwind() {
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  int frames = 0;
  unw_word_t address = 0;
  do {
    unw_get_reg(&cursor, UNW_REG_IP, &address);
    ++frames;
  } while (unw_step(&cursor) > 0);
  return frames;
}

APART void leaf() {
  static Stack stack;
  static void* addresses[256];
  const StackBounds bounds = bounds_here();
  ucontext_t context;
  getcontext(&context);
  const auto own = [&] {
    unwind(context, bounds, stack);
    return static_cast<int>(stack.count);
  };
  // glibc's: libunwind has one of its own under that name.
  const auto of_glibc =
      reinterpret_cast<int (*)(void**, int)>(dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace"));
  measure("backtrace() of glibc", 5000, "", [&] { return of_glibc(addresses, 256); });
  measure("libunwind, unw_step()", 1000, "", by_libunwind);
  measure("libunwind, unw_backtrace()", 5000, "", [] { return unw_backtrace(addresses, 256); });
  measure("own unwinder", 20000, ", \"goal\": 250, \"versus\": \"backtrace() of glibc\"", own);
  measure("own unwinder, nothing remembered", 2000, ", \"versus\": \"backtrace() of glibc\"", [&] {
    forget_remembered();
    return own();
  });
}

// Functions of their own, with frames of different sizes.
template <int kDepth>
APART int deeper(int x) {
  volatile char room[16 + kDepth % 8 * 56];
  room[0] = static_cast<char>(x);
  if constexpr (kDepth == 0) {
    leaf();
  } else {
    deeper<kDepth - 1>(x + 1);
  }
  return room[0];
}

int through_libc(const void* a, const void* b) {
  static bool done = false;
  if (!done) {
    done = true;
    deeper<36>(0);
  }
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

}  // namespace

int main() {
  if (!prepare_modules()) return 1;
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof numbers[0], through_libc);
  return 0;
}
