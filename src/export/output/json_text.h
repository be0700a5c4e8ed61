// Writing JSON fast: numbers and text straight into a Sink's buffer. Used by the Chrome JSON
// exporter. Times are written as decimal microseconds from integer nanoseconds, exactly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "export/output/sink.h"

namespace sonde::exporting {

// Both return the end of what they wrote; at most 24 bytes.
char* put_integer(char* out, int64_t value);
// 1234567 -> "1234.567"
char* put_thousandths(char* out, int64_t value);

inline void append_integer(Sink& sink, int64_t value) {
  sink.advance(put_integer(sink.grab(24), value));
}
inline void append_thousandths(Sink& sink, int64_t value) {
  sink.advance(put_thousandths(sink.grab(24), value));
}

// True when `text` is printable ASCII without quotes and backslashes: a JSON string as it is.
bool is_plain(std::string_view text);

// `text` in quotes; always valid JSON. `scratch` is reused memory.
void append_json_string(Sink& sink, std::string_view text, std::string& scratch);

// The shortest decimal number that reads back as `value`, which must be finite.
void append_real(Sink& sink, double value);

}  // namespace sonde::exporting
