// Text in quotes, as SQL, CSV and shells read it.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// In `quote`s, and those within doubled: for SQL and CSV.
inline std::string in_quotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote) out += c;
  }
  return out + quote;
}

// One word for a shell, whatever is in it.
inline std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out + "'";
}

// A file name as people type it: in quotes only where a shell needs them.
inline std::string shell_word(std::string_view path) {
  const bool is_plain = path.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "._-/+,:=@%") == path.npos;
  return is_plain && !path.empty() && path[0] != '-' ? std::string(path) : shell_quoted(path);
}

}  // namespace sonde
