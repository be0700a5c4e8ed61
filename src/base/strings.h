// Small text helpers of the tool: splitting, numbers with units, JSON escapes, UTF-8 repair.
// Units: sizes in bytes (K, M, G, T are powers of 1024), times in integer nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);  // without surrounding spaces, tabs and line ends
bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes);

// "17", "-3": the whole text must be the number.
std::optional<int64_t> parse_int(std::string_view text);
// "64M", "1.5G", "4096": bytes. nullopt on anything else or on overflow.
std::optional<uint64_t> parse_size(std::string_view text);
// "250ns", "1.5us", "20ms", "3s", "2m", "1h"; a bare number takes `default_unit_ns`.
std::optional<int64_t> parse_duration_ns(std::string_view text, int64_t default_unit_ns);

std::string format_size(uint64_t bytes);           // "1.5 GiB"
std::string format_duration(int64_t nanoseconds);  // "12.3 ms"
std::string format_count(uint64_t count);          // "1,234,567"
std::string count_of_bytes(uint64_t bytes);        // "1 byte", "4,096 bytes"

// Appends `text` as the contents of a JSON string: quotes, backslashes and control characters are
// escaped and invalid UTF-8 becomes U+FFFD, so the output is always valid JSON.
void append_json_escaped(std::string& out, std::string_view text);
std::string json_quote(std::string_view text);

std::string hex_text(std::string_view bytes);  // "00ff"

// Invalid sequences become U+FFFD.
std::string valid_utf8(std::string_view text);
// The terminal columns of valid UTF-8 text, one per code point.
size_t display_width(std::string_view text);

}  // namespace sonde
