#include "store/faults.h"

#include <utility>

#include "store/bind.h"
#include "store/each_row.h"

namespace sonde::store {

Status add_fault(Database& database, const FaultRow& row) {
  SONDE_TRY(
      database.exec("CREATE TABLE IF NOT EXISTS sonde_fault ("
                    "id integer PRIMARY KEY, pid integer NOT NULL, time_ns integer, "
                    "gpu_id integer, kind text NOT NULL, title text NOT NULL, "
                    "cause text NOT NULL, kernel text, text text NOT NULL, "
                    "json text NOT NULL)"));
  return run(database,
             "INSERT INTO sonde_fault (pid, time_ns, gpu_id, kind, title, cause, kernel, text, "
             "json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
             row.pid, row.time_ns, row.gpu_id, row.kind, row.title, row.cause, row.kernel, row.text,
             row.json);
}

Result<std::vector<FaultRow>> faults_of(Database& database) {
  std::vector<FaultRow> found;
  SONDE_TRY(each_row_of(database, "sonde_fault",
                        "SELECT pid, time_ns, gpu_id, kind, title, cause, kernel, "
                        "text, json FROM sonde_fault ORDER BY id",
                        [&](const Statement& rows) {
                          found.push_back({rows.integer(0), rows.integer(1), rows.integer(2),
                                           std::string(rows.text(3)), std::string(rows.text(4)),
                                           std::string(rows.text(5)), std::string(rows.text(6)),
                                           std::string(rows.text(7)), std::string(rows.text(8))});
                        }));
  return found;
}

Status add_fault_data(Database& database, const std::vector<FaultMemory>& memory,
                      const std::vector<FaultCode>& code) {
  SONDE_TRY(
      database.exec("CREATE TABLE IF NOT EXISTS sonde_fault_memory ("
                    "fault integer NOT NULL, address integer NOT NULL, bytes blob NOT NULL)"));
  SONDE_TRY(
      database.exec("CREATE TABLE IF NOT EXISTS sonde_fault_code ("
                    "fault integer NOT NULL, uri text NOT NULL, bytes blob NOT NULL)"));
  SONDE_ASSIGN(auto piece, database.prepare("INSERT INTO sonde_fault_memory VALUES "
                                            "((SELECT max(id) FROM sonde_fault), ?, "
                                            "CAST(? AS BLOB))"));
  for (const FaultMemory& one : memory) {
    piece.bind(1, static_cast<int64_t>(one.address));
    piece.bind_static(2, one.bytes);
    SONDE_TRY(piece.run());
  }
  SONDE_ASSIGN(auto object, database.prepare("INSERT INTO sonde_fault_code VALUES "
                                             "((SELECT max(id) FROM sonde_fault), ?, "
                                             "CAST(? AS BLOB))"));
  for (const FaultCode& one : code) {
    object.bind(1, one.uri);
    object.bind_static(2, one.bytes);
    SONDE_TRY(object.run());
  }
  return ok_status();
}

Result<std::vector<FaultMemory>> memory_of_faults(Database& database) {
  std::vector<FaultMemory> found;
  SONDE_TRY(each_row_of(
      database, "sonde_fault_memory",
      "SELECT address, bytes FROM sonde_fault_memory "
      "ORDER BY fault DESC, address",
      [&](const Statement& rows) {
        found.push_back({static_cast<uint64_t>(rows.integer(0)), std::string(rows.text(1))});
      }));
  return found;
}

Result<std::vector<FaultCode>> code_of_faults(Database& database) {
  std::vector<FaultCode> found;
  SONDE_TRY(each_row_of(database, "sonde_fault_code",
                        "SELECT DISTINCT uri, bytes FROM sonde_fault_code",
                        [&](const Statement& rows) {
                          found.push_back({std::string(rows.text(0)), std::string(rows.text(1))});
                        }));
  return found;
}

Result<std::vector<FaultCall>> rank_calls_of_faults(Database& database) {
  std::vector<FaultCall> found;
  std::pair<int64_t, int64_t> last(-1, -1);
  // A row for each frame, one at least for each call.
  SONDE_TRY(each_row_of(
      database, "sonde_fault",
      "SELECT f.id, c.key, c.value ->> 'communicator', c.value ->> 'host', c.value ->> 'call', "
      "c.value ->> 'ranks', c.value ->> 'rank', c.value ->> 'pid', c.value ->> 'sequence', "
      "c.value ->> 'count', c.value ->> 'type', c.value ->> 'root', c.value ->> 'ended', "
      "c.value ->> 'open', s.value ->> 'function', s.value ->> 'file', s.value ->> 'module', "
      "s.value ->> 'language', s.value ->> 'line' "
      "FROM sonde_fault f, json_each(f.json, '$.rank_calls') c "
      "LEFT JOIN json_each(c.value, '$.stack') s "
      "WHERE f.id IN (SELECT max(id) FROM sonde_fault GROUP BY pid) AND json_valid(f.json) "
      "ORDER BY f.id, c.key, s.key",
      [&](const Statement& rows) {
        const auto text = [&](int column) { return std::string(rows.text(column)); };
        const std::pair<int64_t, int64_t> call(rows.integer(0), rows.integer(1));
        if (call != last) {
          found.push_back({text(2),
                           text(3),
                           text(4),
                           rows.integer(5),
                           rows.integer(6),
                           rows.integer(7),
                           rows.integer(8),
                           rows.integer(9),
                           rows.integer(10),
                           rows.integer(11),
                           rows.integer(12) != 0,
                           rows.integer(13) != 0,
                           {}});
        }
        last = call;
        if (rows.is_null(14)) return;
        found.back().stack.push_back({text(14), text(15), text(16), text(17), rows.integer(18)});
      }));
  return found;
}

}  // namespace sonde::store
