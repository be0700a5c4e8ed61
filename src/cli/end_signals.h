// Turns SIGINT and SIGTERM into a function call, for a command that runs until it is told to end.
// Create it before other threads: they inherit the blocked signals.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sonde::cli {

class EndSignals {
 public:
  // `end` is called on a thread of its own, at most once, and never after the destructor, which
  // restores the signals' effect. A second signal restores it at once.
  static Result<std::unique_ptr<EndSignals>> catch_them(std::function<void()> end);
  ~EndSignals();

 private:
  EndSignals() = default;
  UniqueFd signals_, done_;
  std::thread waiting_;
};

}  // namespace sonde::cli
