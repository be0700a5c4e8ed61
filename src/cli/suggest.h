// "did you mean": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sonde::cli {

// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`.
size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `words`, or "" if none is near enough to be meant.
std::string nearest(std::string_view word, std::span<const std::string> words);

}  // namespace sonde::cli
