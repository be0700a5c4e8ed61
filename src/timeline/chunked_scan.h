// Reads a whole table in many short queries, so that a process which writes it meanwhile does not
// wait, and so that reading can be stopped. Private to src/timeline.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/result.h"
#include "store/scan.h"
#include "timeline/build_index.h"

namespace sonde::timeline {

constexpr int64_t kChunk = 1 << 16;  // rows of one query

// Calls on_row(row) for the rows of a table in the order of `key`, a column of numbers that has an
// index. Progress goes from `from` to `to`.
template <typename OnRow>
Status scan_in_chunks(store::Database& database, const std::string& key, const std::string& columns,
                      const std::string& table, Progress& progress, double from, double to,
                      OnRow&& on_row) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  const std::string of_table = "(" + key + ") FROM " + table;
  SONDE_ASSIGN(const int64_t last, database.integer("SELECT max" + of_table, 0));
  SONDE_ASSIGN(int64_t first, database.integer("SELECT min" + of_table, kNone));
  const auto begin = static_cast<double>(first);
  while (first != kNone) {
    if (progress.stop) return make_error(ErrorCode::kInternal, "is stopped", database.path());
    const int64_t end = first > kNone - kChunk ? kNone : first + kChunk;
    SONDE_TRY(store::scan(database, columns,
                          table + " WHERE " + key + " >= ?1 AND " + key + " < ?2", {first, end},
                          on_row));
    const double share =
        (static_cast<double>(end) - begin) / std::max(1.0, static_cast<double>(last) - begin);
    progress.done = from + (to - from) * std::min(1.0, share);
    SONDE_ASSIGN(first, database.integer("SELECT min" + of_table + " WHERE " + key +
                                             " >= " + std::to_string(end),
                                         kNone));
  }
  return ok_status();
}

}  // namespace sonde::timeline
