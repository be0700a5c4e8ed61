// Makes text from traces safe to show. A name may contain anything: escape sequences, marks that
// reverse the order of letters, line ends. All output for people passes through here.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

enum class Lines { kKeep, kJoin };  // line ends and tabs stay, or become spaces

// Valid UTF-8 without control characters and directional marks: each C0 character and DEL becomes a
// space; each C1 character and mark (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069)
// becomes U+FFFD, as do bytes that are not UTF-8.
std::string printable(std::string_view text, Lines lines = Lines::kJoin);

// The same for complete output: line ends, tabs and the tool's own colours stay. Text from a trace
// must have passed printable() before, since its colours would look like ours. True if nothing had
// to change; `safe` is not touched then.
bool is_safe_output(std::string_view text, std::string& safe);

}  // namespace sonde
