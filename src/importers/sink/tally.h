// Tally: what an importer did not take as it is, and what it wants to be known. Reasons are
// counted, and the place of the first one is kept.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::importers {

class Tally {
 public:
  struct Entry {
    std::string what;   // "events without a time"
    std::string first;  // where the first was: "trace.json:17"
    uint64_t count = 0;
  };

  // `what` has the plural, and goes after a number: "1,234 events without a time".
  // skip(): not imported. repair(): imported, but not as it stood in the file.
  void skip(std::string_view what, std::string_view place, uint64_t count = 1) {
    add(skipped_, what, place, count);
  }
  void repair(std::string_view what, std::string_view place, uint64_t count = 1) {
    add(repaired_, what, place, count);
  }
  // Rows read, by kind: "X/cpu_op".
  void count(std::string_view kind, uint64_t rows = 1);
  // A sentence about the file: "463 operations were launched before the recording".
  void remark(std::string text) { remarks_.push_back(std::move(text)); }

  const std::vector<Entry>& skipped() const { return skipped_; }
  const std::vector<Entry>& repaired() const { return repaired_; }
  const std::map<std::string, uint64_t, std::less<>>& counts() const { return counts_; }
  const std::vector<std::string>& remarks() const { return remarks_; }
  uint64_t skipped_count() const;

  // What was skipped or repaired: "12 events without a time skipped (the first: trace.json:17)".
  std::vector<std::string> warnings() const;

 private:
  static void add(std::vector<Entry>& entries, std::string_view what, std::string_view place,
                  uint64_t count);

  std::vector<Entry> skipped_, repaired_;
  std::map<std::string, uint64_t, std::less<>> counts_;
  std::vector<std::string> remarks_;
};

}  // namespace sonde::importers
