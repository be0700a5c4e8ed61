// Text of traces as it may be shown. A name may hold anything: sequences that drive a terminal,
// marks that turn the order of letters around, line ends. What goes to people passes through here.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

enum class Lines { kKeep, kJoin };  // line ends and tabs stay, or become blanks

// Valid UTF-8 without control characters and marks of direction: of C0 and DEL each becomes a
// blank, of C1 and the marks (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) each
// becomes U+FFFD, as do bytes that are no UTF-8.
std::string printable(std::string_view text, Lines lines = Lines::kJoin);

// The same of output that is complete: line ends and tabs stay, and so do the tool's own colours.
// What comes from a trace has passed printable() before: here its colours look like these.
// True if nothing had to be changed; `safe` is then left alone.
bool is_safe_output(std::string_view text, std::string& safe);

}  // namespace sonde
