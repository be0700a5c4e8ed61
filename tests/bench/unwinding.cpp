// needs: unwind
// link: sonde_cpu_parts -rdynamic
// What a call stack costs, in CPU time a frame: the sampler's unwinder with what it remembers and
// the first time, glibc's backtrace(), and libunwind, on the same stack; and Python's frames alone.
// One stack is of 40 frames and more, of functions of several shapes and through libc. The other is
// that of a PyTorch convolution in an embedded Python, taken where oneDNN asks for memory.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../programs/cpu_clock.h"
#include "backends/cpu/bounds_test_support.h"
#include "backends/cpu/modules.h"
#include "backends/cpu/python.h"
#include "backends/cpu/unwind.h"

#define APART __attribute__((noinline, noclone))

extern "C" void* __libc_stack_end;

namespace {

using namespace sonde::cpu;

// Nanoseconds of one frame; `frames` is how many there were.
template <typename Once>
double ns_a_frame(int rounds, int& frames, Once&& once) {
  frames = once();
  const double begin = cpu_ns();
  for (int i = 0; i < rounds; ++i) frames = once();
  return (cpu_ns() - begin) / rounds / frames;
}

template <typename Once>
void measure(const std::string& name, int rounds, const std::string& extra, Once&& once) {
  int frames = 0;
  const double each = ns_a_frame(rounds, frames, once);
  std::printf(
      "{\"name\": \"%s\", \"value\": %.1f, \"unit\": \"ns a frame\"%s, \"note\": \"%d frames\"}\n",
      name.c_str(), each, extra.c_str(), frames);
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

APART void compare_here(const std::string& where) {
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
  const std::string glibc = where + "backtrace() of glibc",
                    versus = ", \"versus\": \"" + glibc + "\"";
  measure(glibc, 5000, "", [&] { return of_glibc(addresses, 256); });
  measure(where + "libunwind, unw_step()", 1000, "", by_libunwind);
  measure(where + "libunwind, unw_backtrace()", 5000, "",
          [] { return unw_backtrace(addresses, 256); });
  measure(where + "own unwinder", 20000, ", \"goal\": 250" + versus, own);
  measure(where + "own unwinder, nothing remembered", 2000, versus, [&] {
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
    compare_here("");
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

// Python calls this with frames of its own around it.
void walk_here() {
  static PythonStack stack;
  sonde_agent agent = {};
  agent.define_code = [](const sonde_code*) -> uint32_t { return 1; };
  find_python(nullptr);
  const StackBounds in_use = {reinterpret_cast<uint64_t>(__builtin_frame_address(0)),
                              reinterpret_cast<uint64_t>(__libc_stack_end)};
  int frames = 0;
  const double each = ns_a_frame(50000, frames, [&] {
    walk_python(&agent, in_use, stack);
    return static_cast<int>(stack.frame_count);
  });
  if (frames == 0) std::exit(1);
  std::printf(
      "{\"name\": \"Python's frames alone\", \"value\": %.3f, \"unit\": \"us for 15 frames\", "
      "\"goal\": 1, \"note\": \"%d frames, %.1f ns each\"}\n",
      each * 15 / 1000, frames, each);
}

bool g_is_wanted = false;  // the next stack of oneDNN's

// Calls the two functions whose addresses it is given.
constexpr const char* kProgram = R"(
import ctypes
walk = ctypes.PYFUNCTYPE(None)(%zu)
def deep(n):
    return deep(n - 1) if n else walk()
deep(13)
try:
    import torch
except ImportError:
    torch = None
if torch:
    convolution, pictures = torch.nn.Conv2d(16, 16, 3), torch.randn(8, 16, 32, 32)
    wanted = ctypes.c_bool.from_address(%zu)
    wanted.value = True
    convolution(pictures)
    assert not wanted.value, "oneDNN was not seen"
)";

bool run_python() {
  find_python(nullptr);  // there is none yet, as where a program loads it
  void* python = dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_GLOBAL);
  if (python == nullptr) return true;  // its rows are missing
  const auto start = reinterpret_cast<void (*)(int)>(dlsym(python, "Py_InitializeEx"));
  const auto run = reinterpret_cast<int (*)(const char*)>(dlsym(python, "PyRun_SimpleString"));
  char program[2000];
  std::snprintf(program, sizeof program, kProgram, reinterpret_cast<size_t>(&walk_here),
                reinterpret_cast<size_t>(&g_is_wanted));
  start(0);
  return run(program) == 0;
}

}  // namespace

// In place of libc's: oneDNN calls it within a primitive, which an operator of PyTorch runs.
extern "C" int posix_memalign(void** out, size_t alignment, size_t bytes) noexcept {
  static const auto original =
      reinterpret_cast<int (*)(void**, size_t, size_t)>(dlsym(RTLD_NEXT, "posix_memalign"));
  Dl_info caller = {};
  if (g_is_wanted && dladdr(__builtin_return_address(0), &caller) != 0 &&
      std::strstr(caller.dli_fname, "dnnl") != nullptr) {
    g_is_wanted = false;
    compare_here("torch operator: ");
  }
  return original(out, alignment, bytes);
}

int main() {
  if (!prepare_modules()) return 1;
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof numbers[0], through_libc);
  return run_python() ? 0 : 1;
}
