// Values in the arguments of a call, which are kept as the text of a flat JSON object (PyTorch), or
// as "count = 1000 | bytes = 4000" (calls that Sonde recorded; RPD writes "count=1000").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde::analysis {

// The value of a member, without the quotes of a text (whose escapes stay), a list with its
// brackets; nullopt if there is no such member.
std::optional<std::string_view> argument(std::string_view args, std::string_view key);
std::optional<int64_t> integer_argument(std::string_view args, std::string_view key);
// A pointer, "0x7f00".
std::optional<int64_t> handle_argument(std::string_view args, std::string_view key);
// Either of both.
std::optional<int64_t> number_argument(std::string_view args, std::string_view key);

}  // namespace sonde::analysis
