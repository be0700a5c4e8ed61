// The HIP functions under their own names: this library is preloaded, so a program that is linked
// with HIP calls these. That costs less than HIP's callbacks, provides the results of calls, and
// does not change HIP's own behaviour. Calls of a program that finds the functions only by dlsym()
// are reported by those callbacks: see callbacks.cpp.
#include <dlfcn.h>

#include "backends/markers/markers.h"
#include "backends/rocm/hip/hip.h"
#include "backends/rocm/hip/interpose.h"
#include "backends/rocm/hip/signatures.h"
#include "base/loaded_function.h"

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

namespace sonde::hip {

constinit thread_local rocm::Entered t_entered;

namespace {

// hipErrorNoDevice: without HIP in the process, what HIP answers where there is no GPU. A program
// that only looks whether a function is there, as by a weak symbol, meets ours.
constexpr int kNoDevice = 100;

void say_there_is_none(void* devices) {
  if (devices != nullptr) *static_cast<int*>(devices) = 0;
}

void* find_next(const char* name) {
  const ErrnoKeeper keep;
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol != nullptr) return symbol;
  void* library = loaded_library();  // to go through all that is loaded takes longer
  if (library != nullptr) symbol = dlsym(library, name);
  if (symbol != nullptr) return symbol;
  return find_loaded_function(name, reinterpret_cast<const void*>(find_next));
}

template <Function Id, typename... A>
int call(A... values) {
  static void* found;
  void* symbol = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  if (symbol == nullptr) {
    symbol = find_next(name_of(Id));
    if (symbol == nullptr) {
      if constexpr (Id == k_hipGetDeviceCount) say_there_is_none(values...);
      return kNoDevice;
    }
    __atomic_store_n(&found, symbol, __ATOMIC_RELEASE);
  }
  int (*next)(A...);
  memcpy(&next, &symbol, sizeof next);
  return recorded_as<Id, A...>(next, values...);
}

enum Wanted : int { kNotKnown, kYes, kNo };
int g_wanted = kNotKnown;

[[gnu::noinline]] int find_wanted() {
  const ErrnoKeeper keep;
  const int known = rocm::wanted("hip") && rocm::connect() ? kYes : kNo;
  if (known == kYes) prepare_functions(has_newer_data());
  __atomic_store_n(&g_wanted, known, __ATOMIC_RELEASE);
  return known;
}

}  // namespace

bool entered(const FunctionInfo& function, const void* frame) {
  if (t_entered.nested(frame)) return false;
  t_entered.enter(frame);
  int known = __atomic_load_n(&g_wanted, __ATOMIC_ACQUIRE);
  if (known == kNotKnown) [[unlikely]] {
    known = find_wanted();
  }
  rocm::t_called = function.name;
  return known == kYes && rocm::recording();
}

int left(int result, const void* frame) {
  if (!t_entered.nested(frame)) t_entered.leave();
  return result;
}

void switch_recording(bool on) {
  static int paused;
  const ErrnoKeeper keep;
  if (!rocm::wanted("hip") || !rocm::connect()) return;
  if (on) {
    markers::resume_recording(rocm::g_agent, paused);
  } else {
    markers::pause_recording(rocm::g_agent, paused);
  }
}

bool called_by_name() { return t_entered.inside(); }

}  // namespace sonde::hip

using namespace sonde::hip;

// LIST_N: the first N values of A(function, index).
#define LIST_0(A, f)
#define LIST_1(A, f) A(f, 0)
#define LIST_2(A, f) LIST_1(A, f), A(f, 1)
#define LIST_3(A, f) LIST_2(A, f), A(f, 2)
#define LIST_4(A, f) LIST_3(A, f), A(f, 3)
#define LIST_5(A, f) LIST_4(A, f), A(f, 4)
#define LIST_6(A, f) LIST_5(A, f), A(f, 5)
#define LIST_7(A, f) LIST_6(A, f), A(f, 6)
#define LIST_8(A, f) LIST_7(A, f), A(f, 7)
#define LIST_9(A, f) LIST_8(A, f), A(f, 8)
#define LIST_10(A, f) LIST_9(A, f), A(f, 9)
#define LIST_11(A, f) LIST_10(A, f), A(f, 10)
#define LIST_12(A, f) LIST_11(A, f), A(f, 11)
#define LIST_13(A, f) LIST_12(A, f), A(f, 12)
#define LIST_14(A, f) LIST_13(A, f), A(f, 13)
#define LIST_15(A, f) LIST_14(A, f), A(f, 14)
#define LIST_16(A, f) LIST_15(A, f), A(f, 15)
#define PARAMETER(f, index) Passed<f, index>::Type a##index
#define ARGUMENT(f, index) a##index

#define X(id, place, name, category, weight, count, parameters) \
  SONDE_EXPORT int name(LIST_##count(PARAMETER, k_##name)) {    \
    return call<k_##name>(LIST_##count(ARGUMENT, k_##name));    \
  }
#include "backends/rocm/hip/functions.inc"
#undef X
