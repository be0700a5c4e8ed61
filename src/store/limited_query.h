// A query that comes from a page: it only reads, as prepare_read_only() sees to, may use no PRAGMA
// and no function that reaches out of the file, and ends at a number of rows, bytes and seconds, so
// that no query holds the server. Used by `src/serve`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

struct QueryLimits {
  int64_t time_ns = 10'000'000'000;
  size_t rows = 100'000;
  size_t bytes = 16 << 20;  // of text, about, and of any one value
};

// A whole number as JSON: as text if it is one that a double, and so a browser, would round.
std::string json_integer(int64_t value);

// Values are JSON: numbers, quoted text, null; a blob is its size in words.
struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool cut = false;  // there are more rows than the limits let through
};

Result<QueryResult> limited_query(Database& database, const std::string& sql,
                                  const QueryLimits& limits = {});

}  // namespace sonde::store
