// Whether the calling thread, which holds the GIL, runs another interpreter than Python's main one.
// Known from Python 3.9 on.
#pragma once

#include <dlfcn.h>

namespace sonde::cpu {

inline bool is_in_another_interpreter() {
  using Interpreter = void* (*)();
  const auto own = reinterpret_cast<Interpreter>(dlsym(RTLD_DEFAULT, "PyInterpreterState_Get"));
  const auto main = reinterpret_cast<Interpreter>(dlsym(RTLD_DEFAULT, "PyInterpreterState_Main"));
  if (own != nullptr && main != nullptr) return own() != main();
  dlerror();  // clears the error, which the program would otherwise see
  return false;
}

}  // namespace sonde::cpu
