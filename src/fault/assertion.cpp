#include "fault/assertion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace sonde::fault {

namespace {

// The format string of HIP's __assert_fail(). Device code sends it with its arguments in eight-byte
// words, texts zero-terminated and zero-padded; the host keeps them contiguously.
constexpr std::string_view kFormat = "%s:%u: %s: Device-side assertion `%s' failed.\n";
constexpr size_t kMostText = 4096;  // of a name or an expression
constexpr size_t kPiece = 1 << 20;
constexpr uint64_t kMostRead = uint64_t{512} << 20;
constexpr int64_t kMostNs = 500'000'000;  // how long the program is made to wait

std::string_view take_text(std::span<const char>& rest) {
  const size_t most = std::min(rest.size(), kMostText);
  const auto end = std::find(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(most), '\0');
  const auto length = static_cast<size_t>(end - rest.begin());
  if (length == most) return {};
  const std::string_view text(rest.data(), length);
  const bool is_text = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t';
  });
  rest = rest.subspan(std::min(rest.size(), (length + 8) / 8 * 8));
  return is_text ? text : std::string_view();
}

}  // namespace

std::string assertion_in(std::span<const char> memory) {
  const std::string_view all(memory.data(), memory.size());
  for (size_t at = 0; (at = all.find(kFormat, at)) != all.npos; ++at) {
    auto rest = memory.subspan(at);
    take_text(rest);
    const std::string_view file = take_text(rest);
    uint64_t line = 0;
    if (file.empty() || rest.size() < sizeof line) continue;
    std::memcpy(&line, rest.data(), sizeof line);
    rest = rest.subspan(sizeof line);
    const std::string_view function = take_text(rest), expression = take_text(rest);
    // The format string in the code object itself, or a message that is incomplete.
    if (line == 0 || line > 10'000'000 || function.empty() || expression.empty()) continue;
    return fmt::format("{}:{}: {}: `{}' failed", file, line, function, expression);
  }
  return {};
}

std::string find_assertion(const LiveProcess& process) {
  const int64_t until_ns = monotonic_now_ns() + kMostNs;
  uint64_t read_bytes = 0;
  constexpr size_t kOverlap = 4 * kMostText;  // a message may straddle two pieces
  std::vector<char> piece(kPiece + kOverlap);
  for (const MemoryMap& map : process.maps()) {
    const bool is_heap = map.permissions == "rw-p" && (map.path.empty() || map.path == "[heap]");
    if (!is_heap) continue;
    for (uint64_t at = map.begin; at < map.end; at += kPiece) {
      if (read_bytes > kMostRead || monotonic_now_ns() > until_ns) return {};
      const int64_t got =
          process.read(at, piece.data(), std::min<uint64_t>(piece.size(), map.end - at));
      if (got <= 0) break;
      read_bytes += static_cast<uint64_t>(got);
      std::string text = assertion_in({piece.data(), static_cast<size_t>(got)});
      if (!text.empty()) return text;
    }
  }
  return {};
}

}  // namespace sonde::fault
