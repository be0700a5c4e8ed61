#include "store/recording.h"
#include "store/each_row.h"

#include <fmt/format.h>

#include <set>

#include "base/strings.h"

namespace sonde::store {

Result<RowCounts> count_rows(Database& database) {
  SONDE_ASSIGN(const int64_t apis, database.integer("SELECT count(*) FROM rocpd_api"));
  SONDE_ASSIGN(const int64_t ops, database.integer("SELECT count(*) FROM rocpd_op"));
  return RowCounts{static_cast<uint64_t>(apis), static_cast<uint64_t>(ops)};
}

// "SINCE", and "NUMBER PLACE" of each.
Status keep_metric_gpus(Database& database, const MetricGpus& gpus) {
  std::string value = fmt::format("{}\n", gpus.since_ns);
  for (const auto& [number, place] : gpus.places) value += fmt::format("{} {}\n", number, place);
  return run(database, "INSERT OR REPLACE INTO sonde_ingest (key, value) VALUES ('metrics', ?1)",
             value);
}

namespace {

Result<MetricGpus> kept_metric_gpus(Database& database) {
  SONDE_ASSIGN(const std::string kept,
               database.text("SELECT value FROM sonde_ingest WHERE key = 'metrics'"));
  MetricGpus gpus;
  for (const auto line : split(kept, '\n')) {
    const size_t space = line.find(' ');
    const int64_t number = parse_int(line.substr(0, space)).value_or(0);
    if (space != line.npos) {
      gpus.places[number] = line.substr(space + 1);
    } else if (!line.empty()) {
      gpus.since_ns = number;
    }
  }
  return gpus;
}

// The new numbers, by the old ones; none where the traced GPUs' places are unknown: then both are
// taken to have the same order.
Result<std::map<int64_t, int64_t>> new_numbers(Database& database, const MetricGpus& gpus) {
  std::map<std::string, int64_t> traced;  // number by place
  std::set<int64_t> taken;
  SONDE_TRY(each_row(database, "SELECT lower(location), gpu_id FROM sonde_device",
                     [&](const Statement& rows) {
                       taken.insert(rows.integer(1));
                       if (!rows.text(0).empty()) traced.emplace(rows.text(0), rows.integer(1));
                     }));
  std::map<int64_t, int64_t> numbers;
  for (const auto& [number, place] : gpus.places) {
    const auto known = traced.find(place);
    if (known != traced.end()) numbers[number] = known->second;
  }
  if (numbers.empty()) return numbers;
  int64_t free = 0;
  for (const auto& [number, place] : gpus.places) {
    if (numbers.count(number) != 0) continue;
    while (!taken.insert(free).second) ++free;
    numbers[number] = free;
  }
  return numbers;
}

}  // namespace

Status renumber_gpu_metrics(Database& database) {
  SONDE_ASSIGN(const MetricGpus gpus, kept_metric_gpus(database));
  SONDE_ASSIGN(const auto numbers, new_numbers(database, gpus));
  std::string cases;
  for (const auto& [from, to] : numbers) {
    if (from != to) cases += fmt::format(" WHEN {} THEN {}", from, to);
  }
  if (!cases.empty()) {
    SONDE_TRY(database.exec(
        fmt::format("UPDATE rocpd_monitor SET deviceId = CASE deviceId{} ELSE deviceId END "
                    "WHERE deviceType = 'gpu' AND start >= {}",
                    cases, gpus.since_ns)));
  }
  return database.exec("DELETE FROM sonde_ingest WHERE key = 'metrics'");
}

Status set_exit_of_children(Database& database, int64_t parent, int64_t since_ns,
                            std::string_view how) {
  return run(database,
             "UPDATE sonde_process SET exit = ?1 WHERE ppid = ?2 AND start_ns >= ?3 AND "
             "exit = 'ended'",
             how, parent, since_ns);
}

}  // namespace sonde::store
