// Secrets do not belong into traces, which are shown to others. What looks like one is replaced by
// "***" before it is stored, and once more before it is printed: in environment variables, command
// lines, and in whatever text other tools have put into their traces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Whether a variable of this name may hold a secret: TOKEN, KEY, SECRET, PASS, JWT or CREDENTIAL
// anywhere in it, or AUTH, COOKIE, PWD ... as a word of it. Hides a MONKEY rather than show a key.
bool names_a_secret(std::string_view name);
// The same for options and members of documents, which are many: words like "tokenizer" and
// "max-tokens" are known to be harmless.
bool option_names_a_secret(std::string_view name);

// Whether the value of an environment variable explains performance: those of ROCm, HIP, HSA, CUDA,
// NCCL and RCCL, OpenMP, MKL, PyTorch, of launchers of ranks, search paths and locale. Of others
// only the name is told.
bool explains_performance(std::string_view name);

// "NAME=VALUE" as it may be told: the value hidden unless it explains performance and is no secret.
std::string redact_variable(std::string_view entry);
// The arguments with hidden values: "--token=x", "--password x", "PASSWORD=x",
// "https://user:x@host".
std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments);
// Any text: the values of NAME=VALUE, NAME: VALUE and "name": "value" whose name is a secret's, of
// URLs that hold one, and what has the form of a well-known kind of token.
std::string redact_text(std::string_view text);
// The value of a fact of this name.
std::string redact_fact(std::string_view name, std::string_view value);

}  // namespace sonde
