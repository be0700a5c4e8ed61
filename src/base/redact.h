// Keeps secrets out of traces, which are shown to others. What looks like a secret is replaced by
// "***" before it is stored, and again before it is printed: in environment variables, command
// lines, and any text that other tools put into their traces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Whether a variable of this name may hold a secret: it contains TOKEN, KEY, SECRET, PASS, JWT or
// CREDENTIAL anywhere, or AUTH, COOKIE, PWD ... as a word. Rather hides a MONKEY than shows a key.
bool names_a_secret(std::string_view name);
// The same for options and document members, of which there are many: words like "tokenizer" and
// "max-tokens" are known to be harmless.
bool option_names_a_secret(std::string_view name);

// Whether the value of an environment variable explains performance: those of ROCm, HIP, HSA, CUDA,
// NCCL and RCCL, OpenMP, MKL, PyTorch, rank launchers, search paths and locale. Of other variables
// only the name is kept.
bool explains_performance(std::string_view name);

// "NAME=VALUE" with the value hidden unless it explains performance and is not a secret.
std::string redact_variable(std::string_view entry);
// The arguments with secrets hidden: "--token=x", "--password x", "PASSWORD=x",
// "https://user:x@host".
std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments);
// Any text: hides the values of NAME=VALUE, NAME: VALUE and "name": "value" if the name is a
// secret's, credentials in URLs, and anything that has the form of a well-known kind of token.
std::string redact_text(std::string_view text);
// The value of a fact of this name, hidden if it is a secret.
std::string redact_fact(std::string_view name, std::string_view value);

}  // namespace sonde
