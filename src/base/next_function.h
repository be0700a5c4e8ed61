// The function that one of ours interposes: the next of its name. It is found when our library is
// loaded, since dlsym() takes the dynamic loader's lock: a child of _Fork() or clone() may find it
// held by a thread that it does not have, and a signal handler by the thread that it interrupts.
#pragma once

#include <dlfcn.h>

namespace sonde {

template <typename Function>
class NextFunction {
 public:
  constexpr explicit NextFunction(const char* name) : name_(name) {}

  void find() {
    const auto function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
    __atomic_store_n(&function_, function, __ATOMIC_RELAXED);
  }

  // The constructor of another library may call before ours has found it.
  Function get() {
    if (__atomic_load_n(&function_, __ATOMIC_RELAXED) == nullptr) find();
    return __atomic_load_n(&function_, __ATOMIC_RELAXED);
  }

 private:
  const char* name_;
  Function function_ = nullptr;
};

template <typename... Functions>
void find_all(NextFunction<Functions>&... functions) {
  (functions.find(), ...);
}

}  // namespace sonde
