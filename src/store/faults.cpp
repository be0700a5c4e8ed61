#include "store/faults.h"

namespace sonde::store {

Status add_fault(Database& database, const FaultRow& row) {
  SONDE_TRY(
      database.exec("CREATE TABLE IF NOT EXISTS sonde_fault ("
                    "id integer PRIMARY KEY, pid integer NOT NULL, time_ns integer, "
                    "gpu_id integer, kind text NOT NULL, title text NOT NULL, "
                    "cause text NOT NULL, kernel text, text text NOT NULL, "
                    "json text NOT NULL)"));
  SONDE_ASSIGN(
      auto insert,
      database.prepare("INSERT INTO sonde_fault (pid, time_ns, gpu_id, kind, title, cause, "
                       "kernel, text, json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(1, row.pid);
  insert.bind(2, row.time_ns);
  insert.bind(3, row.gpu_id);
  insert.bind(4, row.kind);
  insert.bind(5, row.title);
  insert.bind(6, row.cause);
  insert.bind(7, row.kernel);
  insert.bind(8, row.text);
  insert.bind(9, row.json);
  return insert.run();
}

Result<std::vector<FaultRow>> faults_of(Database& database) {
  std::vector<FaultRow> found;
  SONDE_ASSIGN(const bool has_table, database.has_table("sonde_fault"));
  if (!has_table) return found;
  SONDE_ASSIGN(auto rows,
               database.prepare("SELECT pid, time_ns, gpu_id, kind, title, cause, kernel, "
                                "text, json FROM sonde_fault ORDER BY id"));
  for (;;) {
    SONDE_ASSIGN(const bool more, rows.step());
    if (!more) return found;
    found.push_back({rows.integer(0), rows.integer(1), rows.integer(2), std::string(rows.text(3)),
                     std::string(rows.text(4)), std::string(rows.text(5)),
                     std::string(rows.text(6)), std::string(rows.text(7)),
                     std::string(rows.text(8))});
  }
}

}  // namespace sonde::store
