// --window: a part of a trace that is told by what is in it: the ranges of a marker, kernels, or
// steps. Used by window.h, which every command goes through.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "trace/trace.h"

namespace sonde::trace {

// "marker:REGEX", "kernel:REGEX", "step:N" or "step:N..M".
struct NamedWindow {
  enum class Kind { kMarker, kKernel, kStep };
  Kind kind = Kind::kMarker;
  std::string text;  // as it was written
  NameFilter names;
  int64_t first = 0, last = 0;  // of steps

  static Result<NamedWindow> parse(const std::string& text);
  // What find() must be given.
  Request request() const;
  // From the first start to the last end of what fits; an error says that nothing does.
  Result<Interval> find(const Trace& trace) const;
};

}  // namespace sonde::trace
