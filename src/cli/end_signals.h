// SIGINT and SIGTERM as a call of a function, for a command that goes on until it is told to end.
// To be made before other threads are: they inherit that the signals are blocked.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sonde::cli {

class EndSignals {
 public:
  // `end` is called by a thread of its own, once at most, and no more after the destructor, which
  // lets the signals have their effect again. So does a second signal at once.
  static Result<std::unique_ptr<EndSignals>> catch_them(std::function<void()> end);
  ~EndSignals();

 private:
  EndSignals() = default;
  UniqueFd signals_, done_;
  std::thread waiting_;
};

}  // namespace sonde::cli
