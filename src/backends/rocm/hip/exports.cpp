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

#define S(size) Struct<size>
#define PARAMETERS_0()
#define NAMES_0
#define PARAMETERS_1(T0) T0 a0
#define NAMES_1 a0
#define PARAMETERS_2(T0, T1) T0 a0, T1 a1
#define NAMES_2 a0, a1
#define PARAMETERS_3(T0, T1, T2) T0 a0, T1 a1, T2 a2
#define NAMES_3 a0, a1, a2
#define PARAMETERS_4(T0, T1, T2, T3) T0 a0, T1 a1, T2 a2, T3 a3
#define NAMES_4 a0, a1, a2, a3
#define PARAMETERS_5(T0, T1, T2, T3, T4) T0 a0, T1 a1, T2 a2, T3 a3, T4 a4
#define NAMES_5 a0, a1, a2, a3, a4
#define PARAMETERS_6(T0, T1, T2, T3, T4, T5) T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5
#define NAMES_6 a0, a1, a2, a3, a4, a5
#define PARAMETERS_7(T0, T1, T2, T3, T4, T5, T6) T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6
#define NAMES_7 a0, a1, a2, a3, a4, a5, a6
#define PARAMETERS_8(T0, T1, T2, T3, T4, T5, T6, T7) \
  T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7
#define NAMES_8 a0, a1, a2, a3, a4, a5, a6, a7
#define PARAMETERS_9(T0, T1, T2, T3, T4, T5, T6, T7, T8) \
  T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8
#define NAMES_9 a0, a1, a2, a3, a4, a5, a6, a7, a8
#define PARAMETERS_10(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9) \
  T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9
#define NAMES_10 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9
#define PARAMETERS_11(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10) \
  T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9, T10 a10
#define NAMES_11 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10
#define PARAMETERS_12(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11) \
  T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9, T10 a10, T11 a11
#define NAMES_12 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11
#define PARAMETERS_13(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12) \
  T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9, T10 a10, T11 a11, T12 a12
#define NAMES_13 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12
#define PARAMETERS_14(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13)                  \
  T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9, T10 a10, T11 a11, T12 a12, \
      T13 a13
#define NAMES_14 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13
#define PARAMETERS_15(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13, T14)             \
  T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9, T10 a10, T11 a11, T12 a12, \
      T13 a13, T14 a14
#define NAMES_15 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14
#define PARAMETERS_16(T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13, T14, T15)        \
  T0 a0, T1 a1, T2 a2, T3 a3, T4 a4, T5 a5, T6 a6, T7 a7, T8 a8, T9 a9, T10 a10, T11 a11, T12 a12, \
      T13 a13, T14 a14, T15 a15
#define NAMES_16 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15

#define X(id, name, category, weight, parameters, count, types) \
  SONDE_EXPORT int name(PARAMETERS_##count types) { return call<k_##name>(NAMES_##count); }
#include "backends/rocm/hip/functions.inc"
#undef X
