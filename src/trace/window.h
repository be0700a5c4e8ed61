// --from and --to: which part of a trace is wanted. Times are relative to the trace's start:
// "1.5s", "200ms", "10us", "250ns", "20%" of its length, or a bare number of seconds; a leading
// minus counts back from its end. --window names a part by what is in it (named_window.h), and
// --from and --to are then of that part. Used by every command that reads a trace, so they all mean
// the same.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "trace/trace.h"

namespace sonde::trace {

struct WindowText {
  std::optional<std::string> from;
  std::optional<std::string> to;
  std::optional<std::string> named = {};  // --window
  bool given() const { return from.has_value() || to.has_value() || named.has_value(); }
};

// Checks the spelling without a trace.
Status check_window(const WindowText& text);

// The window in the absolute times of this file. Reads the whole file once if text.given().
Result<Window> window_of(store::Reader& reader, const WindowText& text);

// The same for a span that is known, and for the part of it that --window names.
Result<Window> resolve_window(const WindowText& text, Interval span,
                              std::optional<Interval> named = {});

// The part of the file that --window names.
Result<Interval> named_part_of(store::Reader& reader, const std::string& named);

// A window that was resolved for the span of several files, for one of them: in its own times,
// which are `shift_ns` behind. It is empty if the file has no time in it.
Window window_in(Interval extent, int64_t shift_ns, Interval span);

// What the above says, for --explain and the docs.
extern const char* const kWindowDefinition;

}  // namespace sonde::trace
