// --window: a part of a trace that is chosen by what is in it: the ranges of a marker, kernels,
// steps, or what steps launched. Used by window.h, which every command goes through.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "trace/trace.h"

namespace sonde::trace {

// "marker:REGEX", "marker:REGEX#K", "kernel:REGEX", "step:N", "step:N..M", or "launched:N" with the
// operations that the step launched.
struct NamedWindow {
  enum class Kind { kMarker, kKernel, kStep };
  Kind kind = Kind::kMarker;
  std::string text;  // as it was written
  NameFilter names;
  NameFilter counted;           // marker:REGEX#K: REGEX alone,
  int64_t number = 0;           // and K; 0 if it does not end so
  int64_t first = 0, last = 0;  // of steps
  bool launched = false;

  static Result<NamedWindow> parse(const std::string& text);
  // What find() must be given.
  Request request() const;
  // From the first start to the last end of what fits; an error says that nothing does.
  Result<Interval> find(const Trace& trace) const;

 private:
  Result<Interval> find_steps_in(const Trace& trace) const;
  Error nothing(const std::string& there) const;
};

}  // namespace sonde::trace
