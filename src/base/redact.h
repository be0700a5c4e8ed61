// Secrets do not belong into traces: what looks like one in an environment variable or on a command
// line is replaced by "***" before it is stored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Whether a variable or option of this name holds a secret: TOKEN, PASSWORD, SECRET, KEY ... as a
// word of the name.
bool names_a_secret(std::string_view name);

// "NAME=VALUE" with the value hidden if need be; also the user:password@ of a URL.
std::string redact_variable(std::string_view entry);
// The arguments with hidden values: "--token=x", "--password x", "https://user:x@host".
std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments);

}  // namespace sonde
