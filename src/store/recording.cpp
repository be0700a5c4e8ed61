#include "store/recording.h"
#include "store/each_row.h"

#include <fmt/format.h>

namespace sonde::store {

Result<RowCounts> count_rows(Database& database) {
  SONDE_ASSIGN(const int64_t apis, database.integer("SELECT count(*) FROM rocpd_api"));
  SONDE_ASSIGN(const int64_t ops, database.integer("SELECT count(*) FROM rocpd_op"));
  return RowCounts{static_cast<uint64_t>(apis), static_cast<uint64_t>(ops)};
}

Result<TracedGpus> traced_gpus(Database& database) {
  TracedGpus gpus;
  SONDE_TRY(each_row(database, "SELECT lower(location), gpu_id FROM sonde_device",
                     [&](const Statement& rows) {
                       gpus.taken.insert(rows.integer(1));
                       if (!rows.text(0).empty())
                         gpus.by_location.emplace(rows.text(0), rows.integer(1));
                     }));
  return gpus;
}

Status renumber_gpu_metrics(Database& database, const std::map<int64_t, int64_t>& numbers,
                            int64_t since_ns) {
  std::string cases;
  for (const auto& [from, to] : numbers) {
    if (from != to) cases += fmt::format(" WHEN {} THEN {}", from, to);
  }
  if (cases.empty()) return ok_status();
  return database.exec(
      fmt::format("UPDATE rocpd_monitor SET deviceId = CASE deviceId{} ELSE deviceId END "
                  "WHERE deviceType = 'gpu' AND start >= {}",
                  cases, since_ns));
}

Status set_exit_of_children(Database& database, int64_t parent, int64_t since_ns,
                            std::string_view how) {
  return run(database,
             "UPDATE sonde_process SET exit = ?1 WHERE ppid = ?2 AND start_ns >= ?3 AND "
             "exit = 'ended'",
             how, parent, since_ns);
}

}  // namespace sonde::store
