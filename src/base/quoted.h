// Quoting for SQL, CSV and shells.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// For SQL and CSV: quotes within the text are doubled.
inline std::string in_quotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote) out += c;
  }
  return out + quote;
}

// Quotes any text as one shell word.
inline std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out + "'";
}

// A file name as people type it: quoted only if a shell needs it.
inline std::string shell_word(std::string_view path) {
  const bool is_plain = path.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "._-/+,:=@%") == path.npos;
  return is_plain && !path.empty() && path[0] != '-' ? std::string(path) : shell_quoted(path);
}

}  // namespace sonde
