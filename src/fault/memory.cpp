#include "fault/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace sonde::fault {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPiece = uint64_t{1} << 20;

// The report's allocations that arguments point to, the most interesting first.
std::vector<const Allocation*> pointed_to(const FaultReport& report) {
  std::vector<const Allocation*> found;
  std::set<size_t> known;
  const auto add = [&](const Dispatch& dispatch) {
    for (const Argument& argument : dispatch.arguments) {
      if (!argument.place || !known.insert(argument.place->allocation).second) continue;
      const Allocation& allocation = report.allocations[argument.place->allocation];
      if (allocation.freed_ns == 0) found.push_back(&allocation);
    }
  };
  if (report.culprit) add(report.in_flight[*report.culprit]);
  for (const Dispatch& dispatch : report.in_flight) add(dispatch);
  return found;
}

bool is_zero(const char* bytes, size_t count) {
  return std::all_of(bytes, bytes + count, [](char c) { return c == 0; });
}

// Appends each run of nonzero pages as a piece.
void keep_pages(uint64_t address, const std::string& bytes, std::vector<MemoryPiece>& pieces) {
  for (size_t at = 0; at < bytes.size();) {
    // Real page boundaries; an allocation need not begin at one.
    const size_t length = std::min<size_t>(kPage - (address + at) % kPage, bytes.size() - at);
    if (!is_zero(bytes.data() + at, length)) {
      const bool goes_on =
          !pieces.empty() && pieces.back().address + pieces.back().bytes.size() == address + at;
      if (!goes_on) pieces.push_back({address + at, {}});
      pieces.back().bytes.append(bytes, at, length);
    }
    at += length;
  }
}

}  // namespace

KeptMemory memory_of(const FaultReport& report, const LiveProcess& process, uint64_t most_bytes) {
  KeptMemory kept;
  uint64_t used = 0;
  for (const Allocation* allocation : pointed_to(report)) {
    bool read_any = false;
    for (uint64_t at = 0; at < allocation->bytes; at += kPiece) {
      const uint64_t wanted = std::min(kPiece, allocation->bytes - at);
      if (used + wanted > most_bytes) {
        kept.left_out += allocation->bytes - at;
        break;
      }
      std::string bytes(wanted, '\0');
      const int64_t got = process.read(allocation->address + at, bytes.data(), wanted);
      if (got <= 0) {
        if (kept.trouble.empty()) {
          kept.trouble = fmt::format("the buffer at {:#x} cannot be read: {}", allocation->address,
                                     std::strerror(got < 0 ? static_cast<int>(-got) : EFAULT));
        }
        break;
      }
      read_any = true;
      bytes.resize(static_cast<size_t>(got));
      const size_t before = kept.pieces.empty() ? 0 : kept.pieces.back().bytes.size();
      const size_t count = kept.pieces.size();
      keep_pages(allocation->address + at, bytes, kept.pieces);
      for (size_t i = count == 0 ? 0 : count - 1; i < kept.pieces.size(); ++i) {
        used += kept.pieces[i].bytes.size() - (count != 0 && i == count - 1 ? before : 0);
      }
    }
    kept.buffers += read_any ? 1 : 0;
  }
  return kept;
}

std::string dump_text(uint64_t address, const std::string& bytes) {
  constexpr size_t kLine = 16;
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += kLine) {
    std::string hex, text;
    for (size_t i = at; i < std::min(at + kLine, bytes.size()); ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      hex += fmt::format("{}{:02x}", i % 8 == 0 && i != at ? "  " : " ", byte);
      text += byte >= ' ' && byte < 0x7f ? bytes[i] : '.';
    }
    out += fmt::format("{:#018x} {:<50} {}\n", address + at, hex, text);
  }
  return out;
}

}  // namespace sonde::fault
