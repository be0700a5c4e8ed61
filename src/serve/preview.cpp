#include "serve/preview.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "base/possible_span.h"
#include "store/reader.h"

namespace sonde::serve {
namespace {

constexpr int64_t kPlaces = 256;   // of each table that are looked at
constexpr int64_t kRowsThere = 6;  // that are next to each other, and cost no more than one
constexpr size_t kBins = 256;

struct Sample {
  int64_t start_ns = 0, end_ns = 0;
  int64_t owner = 0, number = 0;
};

struct Sampled {
  std::vector<Sample> samples;
  int64_t rows = 0;  // of the table, about
};

Result<Sampled> sample(store::Database& database, const std::string& view,
                       const std::string& place) {
  Sampled sampled;
  SONDE_ASSIGN(const int64_t first, database.integer("SELECT min(id) FROM " + view, 0));
  SONDE_ASSIGN(const int64_t last, database.integer("SELECT max(id) FROM " + view, -1));
  if (last < first) return sampled;
  SONDE_ASSIGN(auto next,
               database.prepare("SELECT id, start_ns, end_ns, " + place + " FROM " + view +
                                " WHERE id >= ?1 ORDER BY id LIMIT " + std::to_string(kRowsThere)));
  sampled.rows = last - first + 1;
  const int64_t step = std::max(kRowsThere, sampled.rows / kPlaces);
  int64_t places = 0;
  for (int64_t id = first; id <= last; ++places) {
    next.bind(1, id);
    int64_t last_id = id;
    for (bool any = false;; any = true) {
      SONDE_ASSIGN(const bool found, next.step());
      if (!found && !any) last_id = last;
      if (!found) break;
      // If ids have holes, the next place is after them, and there are fewer rows.
      if (!any) id = next.integer(0);
      const Sample one = {next.integer(1), std::max(next.integer(1), next.integer(2)),
                          next.integer(3), next.integer(4)};
      last_id = next.integer(0);
      if (is_possible_span(one.start_ns, one.end_ns)) sampled.samples.push_back(one);
    }
    next.reset();
    id = std::max(id + step, last_id + 1);
  }
  sampled.rows = std::min(sampled.rows, places * step);
  return sampled;
}

using Key = std::tuple<int, int64_t, int64_t>;  // kind, owner, number
constexpr const char* kKinds[] = {"gpu", "queue", "thread"};
using Shares = std::array<double, kBins>;

// The part of each bin that an event takes, as often as there are such.
void add(const Sample& one, double weight, int64_t start_ns, double width_ns, Shares& shares) {
  const double from = static_cast<double>(one.start_ns - start_ns) / width_ns;
  const double to = static_cast<double>(one.end_ns - start_ns) / width_ns;
  for (auto bin = static_cast<size_t>(from); bin < kBins && static_cast<double>(bin) <= to; ++bin) {
    const double begin = static_cast<double>(bin);
    const double inside = std::min(to, begin + 1) - std::max(from, begin);
    shares[bin] = std::min(1.0, shares[bin] + weight * std::max(inside, 0.0));
  }
}

}  // namespace

Result<std::string> preview_json(const std::string& path) {
  SONDE_ASSIGN(store::Reader reader, store::Reader::open(path));
  SONDE_ASSIGN(const Sampled ops, sample(reader.database(), "v_op", "gpu_id, queue_id"));
  SONDE_ASSIGN(const Sampled apis, sample(reader.database(), "v_api", "pid, tid"));
  int64_t start_ns = std::numeric_limits<int64_t>::max(), end_ns = 0;
  for (const Sampled* table : {&ops, &apis}) {
    for (const Sample& one : table->samples) {
      end_ns = start_ns == std::numeric_limits<int64_t>::max() ? one.end_ns
                                                               : std::max(end_ns, one.end_ns);
      start_ns = std::min(start_ns, one.start_ns);
    }
  }
  if (ops.samples.empty() && apis.samples.empty()) start_ns = end_ns = 0;
  const double width_ns = std::max(1.0, static_cast<double>(end_ns - start_ns) / kBins);
  std::map<Key, Shares> tracks;
  for (const Sampled* table : {&ops, &apis}) {
    const double weight = static_cast<double>(table->rows) /
                          std::max(1.0, static_cast<double>(table->samples.size()));
    for (const Sample& one : table->samples) {
      const int kind = table == &ops ? 1 : 2;
      add(one, weight, start_ns, width_ns, tracks[{kind, one.owner, one.number}]);
      if (kind == 1) add(one, weight, start_ns, width_ns, tracks[{0, one.owner, 0}]);
    }
  }
  std::string list;
  for (const auto& [key, shares] : tracks) {
    const auto& [kind, owner, number] = key;
    list += fmt::format("{}{{\"kind\": \"{}\", \"owner\": {}, \"number\": {}, \"bins\": [{:.3g}]}}",
                        list.empty() ? "" : ",\n", kKinds[kind], owner, number,
                        fmt::join(shares, ", "));
  }
  return fmt::format(
      "{{\"sample\": true, \"start_ns\": 0, \"end_ns\": {}, \"ops\": {}, \"apis\": {}, \"tracks\": "
      "[{}]}}\n",
      end_ns - start_ns, ops.rows, apis.rows, list);
}

}  // namespace sonde::serve
