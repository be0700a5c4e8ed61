#include "importers/sink/tally.h"

#include "base/strings.h"

namespace sonde::importers {

void Tally::count(std::string_view kind, uint64_t rows) {
  const auto found = counts_.find(kind);
  if (found == counts_.end()) {
    counts_.emplace(kind, rows);
  } else {
    found->second += rows;
  }
}

void Tally::add(std::vector<Entry>& entries, std::string_view what, std::string_view place,
                uint64_t count) {
  if (count == 0) return;
  for (Entry& entry : entries) {
    if (entry.what == what) {
      entry.count += count;
      return;
    }
  }
  entries.push_back({std::string(what), std::string(place), count});
}

uint64_t Tally::skipped_count() const {
  uint64_t sum = 0;
  for (const Entry& entry : skipped_) sum += entry.count;
  return sum;
}

std::vector<std::string> Tally::warnings() const {
  std::vector<std::string> lines;
  const auto say = [&](const Entry& entry, const char* fate) {
    std::string line = format_count(entry.count) + " " + entry.what + fate;
    if (!entry.first.empty()) line += " (the first: " + entry.first + ")";
    lines.push_back(std::move(line));
  };
  for (const Entry& entry : skipped_) say(entry, " skipped");
  for (const Entry& entry : repaired_) say(entry, "");
  return lines;
}

}  // namespace sonde::importers
