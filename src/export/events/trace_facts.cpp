#include "export/events/trace_facts.h"

#include <set>

#include "base/redact.h"
#include "store/scan.h"

namespace sonde::exporting {

namespace {

Status load_notes(store::Database& database, TraceFacts& facts) {
  std::set<std::string> keys;
  return store::scan(database, "key, value", "sonde_note WHERE process_id IS NULL", {},
                     [&](const store::Row& row) {
                       std::string key(row.text(0));
                       if (!keys.insert(key).second) return;
                       std::string value = redact_fact(key, row.text(1));
                       facts.notes.emplace_back(std::move(key), std::move(value));
                     });
}

Status load_flows(store::Database& database, const Options& options, const Events& events,
                  std::map<int64_t, int64_t> pid_of_process, TraceFacts& facts) {
  std::set<int64_t> pids;
  for (const Process& process : events.processes) pids.insert(process.pid);
  return store::scan(database, "flow, category_id, name_id, phase, process_id, tid, time_ns",
                     "v_flow", {}, [&](const store::Row& row) {
                       FlowEnd end;
                       end.time_ns = row.integer(6);
                       end.pid = pid_of_process[row.integer_or(4, -1)];
                       if (end.time_ns < options.from_ns || end.time_ns >= options.to_ns ||
                           pids.count(end.pid) == 0 || row.text(3).size() != 1) {
                         return;
                       }
                       end.id = row.text(0);
                       end.category = events.names.find(row.integer(1));
                       end.name = events.names.find(row.integer(2));
                       end.phase = row.text(3)[0];
                       end.tid = row.integer_or(5, 0);
                       facts.flows.push_back(std::move(end));
                     });
}

}  // namespace

Result<TraceFacts> load_facts(store::Reader& reader, const Options& options, const Events& events) {
  TraceFacts facts;
  if (!reader.made_by_sonde()) return facts;
  store::Database& database = reader.database();
  // The last reading: the time of day is set now and then, and later is more likely right.
  SONDE_TRY(store::scan(database, "value - monotonic_ns",
                        "sonde_clock_snapshot WHERE clock = 'realtime'", {},
                        [&](const store::Row& row) { facts.realtime_at_0_ns = row.integer(0); }));
  SONDE_TRY(load_notes(database, facts));
  std::map<int64_t, int64_t> pid_of_process;
  SONDE_TRY(store::scan(database, "id, pid", "sonde_process", {}, [&](const store::Row& row) {
    pid_of_process[row.integer(0)] = row.integer(1);
  }));
  SONDE_TRY(store::scan(database, "api_id", "sonde_unfinished", {},
                        [&](const store::Row& row) { facts.unfinished.insert(row.integer(0)); }));
  SONDE_TRY(load_flows(database, options, events, std::move(pid_of_process), facts));
  return facts;
}

}  // namespace sonde::exporting
