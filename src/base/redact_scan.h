// The parts of a text that redact.cpp looks at: words, values behind names, URLs. Every function
// takes time linear in what it passes over.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sonde::redact {

struct Part {
  size_t begin, end;
};
using Word = Part;

// The next run of letters, digits, '_', '-' and '.' from `at` on; empty: there is none.
Word next_word(std::string_view text, size_t at);

// What is behind a name: "=x", ": x", "\": \"x\"" and the like, and behind "--name" a word of its
// own too. Empty: nothing, or no value.
Part value_behind(std::string_view text, Word name);

// Where `word` is the scheme of a URL: what must not be told of "user:password@", perhaps nothing.
std::optional<Part> secret_of_url(std::string_view text, Word word);

// Web tokens and keys of well-known services, which say by their first letters what they are.
bool has_form_of_token(std::string_view word);

}  // namespace sonde::redact
