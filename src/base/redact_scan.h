// The parts of a text that redact.cpp looks at: words, values after names, URLs. Every function
// takes time linear in the text it passes over.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sonde::redact {

struct Part {
  size_t begin, end;
};
using Word = Part;

// The next run of letters, digits, '_', '-' and '.' from `at` on; empty if there is none.
Word next_word(std::string_view text, size_t at);

// The value after a name: "=x", ": x", "\": \"x\"" and the like; after "--name" also the next
// word. Empty if there is none.
Part value_after(std::string_view text, Word name);

// If `word` is the scheme of a URL: the secret part of "user:password@", possibly empty.
std::optional<Part> secret_of_url(std::string_view text, Word word);

// Web tokens and keys of well-known services, which are recognised by their first letters.
bool has_form_of_token(std::string_view word);

}  // namespace sonde::redact
