#include "store/join_counters.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "store/database.h"
#include "store/each_row.h"

namespace sonde::store {
namespace {

using Key = std::tuple<std::string, int64_t, int64_t, std::string, std::vector<int64_t>>;
using Kernels = std::map<Key, std::vector<int64_t>>;  // ids of operations in order of their start

// A process that counted something: its command, and how many of that command came before.
using Processes = std::map<int64_t, std::pair<std::string, int64_t>>;

Result<Processes> counted_processes(Database& database) {
  Processes processes;
  std::map<std::string, int64_t> seen;
  SONDE_TRY(each_row(database,
                     "SELECT id, command FROM sonde_process WHERE id IN (SELECT "
                     "d.process_id FROM sonde_op_detail d WHERE d.op_id IN (SELECT op_id "
                     "FROM sonde_op_counter)) ORDER BY start_ns, id",
                     [&](const Statement& rows) {
                       const std::string command(rows.text(1));
                       processes[rows.integer(0)] = {command, seen[command]++};
                     }));
  return processes;
}

Result<Kernels> counted_kernels(Database& database) {
  SONDE_ASSIGN(Processes processes, counted_processes(database));
  Kernels kernels;
  SONDE_TRY(each_row(
      database,
      "SELECT o.id, d.process_id, o.gpuId, s.string, d.grid_x, d.grid_y, d.grid_z, "
      "d.group_x, d.group_y, d.group_z FROM rocpd_op o JOIN rocpd_string s ON s.id = "
      "o.description_id JOIN sonde_op_detail d ON d.op_id = o.id WHERE o.id IN "
      "(SELECT op_id FROM sonde_op_counter) ORDER BY o.start, o.id",
      [&](const Statement& rows) {
        std::vector<int64_t> shape;
        for (int i = 4; i < 10; ++i) shape.push_back(rows.integer(i));
        const auto& [command, number] = processes[rows.integer(1)];
        kernels[{command, number, rows.integer(2), std::string(rows.text(3)), std::move(shape)}]
            .push_back(rows.integer(0));
      }));
  return kernels;
}

class Joining {
 public:
  Joining(Database& trace, Database& other) : trace_(trace), other_(other) {}

  Result<JoinedCounters> run() {
    SONDE_ASSIGN(const Kernels here, counted_kernels(trace_));
    SONDE_ASSIGN(const Kernels there, counted_kernels(other_));
    for (const auto& [key, ops] : there) {
      const auto found = here.find(key);
      if (found == here.end()) miss(key, joined_.only_there, ops.size());
    }
    for (const auto& [key, ops] : here) {
      const auto found = there.find(key);
      const size_t partners = found == there.end() ? 0 : found->second.size();
      const size_t both = std::min(ops.size(), partners);
      if (ops.size() > both) miss(key, joined_.only_here, ops.size() - both);
      if (partners > both) miss(key, joined_.only_there, partners - both);
      for (size_t i = 0; i < both; ++i) partner_[found->second[i]] = ops[i];
      joined_.kernels += static_cast<int64_t>(both);
    }
    SONDE_ASSIGN(auto transaction, Transaction::begin(trace_));
    SONDE_TRY(
        copy("SELECT op_id, s.string, pass, xcc, engine, instance, c.value FROM "
             "sonde_op_counter c JOIN rocpd_string s ON s.id = c.name_id",
             "INSERT INTO sonde_op_counter (op_id, name_id, pass, xcc, engine, instance, "
             "value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
    SONDE_TRY(
        copy("SELECT op_id, s.string, c.value FROM rocpd_counter c JOIN rocpd_string s ON "
             "s.id = c.name_id ORDER BY c.id",
             "INSERT INTO rocpd_counter (op_id, name_id, value) VALUES (?1, ?2, ?3)"));
    SONDE_TRY(transaction.commit());
    return joined_;
  }

 private:
  void miss(const Key& key, int64_t& count, size_t kernels) {
    count += static_cast<int64_t>(kernels);
    if (joined_.first_missing.empty()) joined_.first_missing = std::get<3>(key);
  }

  Result<int64_t> string_id(const std::string& text) {
    if (const auto known = strings_.find(text); known != strings_.end()) return known->second;
    SONDE_ASSIGN(auto find, trace_.prepare("SELECT id FROM rocpd_string WHERE string = ?1"));
    find.bind(1, text);
    SONDE_ASSIGN(const bool there, find.step());
    if (there) return strings_[text] = find.integer(0);
    SONDE_ASSIGN(auto add, trace_.prepare("INSERT INTO rocpd_string (string) VALUES (?1)"));
    add.bind(1, text);
    SONDE_TRY(add.run());
    return strings_[text] = add.inserted_id();
  }

  // Rows whose first columns are the operation and the counter's name.
  Status copy(const char* select, const char* insert) {
    SONDE_ASSIGN(auto to, trace_.prepare(insert));
    return each_row(other_, select, [&](const Statement& from) -> Status {
      const auto partner = partner_.find(from.integer(0));
      if (partner == partner_.end()) return ok_status();
      SONDE_ASSIGN(const int64_t name, string_id(std::string(from.text(1))));
      to.bind(1, partner->second);
      to.bind(2, name);
      for (int i = 2; i < from.column_count(); ++i) to.bind_column(i + 1, from, i);
      return to.run();
    });
  }

  Database& trace_;
  Database& other_;
  JoinedCounters joined_;
  std::map<int64_t, int64_t> partner_;  // of an operation of the other run
  std::map<std::string, int64_t> strings_;
};

Result<std::vector<std::string>> texts(Database& database, const char* sql) {
  std::vector<std::string> found;
  SONDE_TRY(
      each_row(database, sql, [&](const Statement& rows) { found.emplace_back(rows.text(0)); }));
  return found;
}

}  // namespace

Result<CountedTrace> counted_trace(const std::string& trace) {
  SONDE_ASSIGN(Database database, Database::open(trace, Database::Mode::kReadOnly));
  CountedTrace counted;
  SONDE_ASSIGN(counted.kernels,
               database.integer("SELECT count(*) FROM rocpd_op WHERE opType_id = (SELECT id FROM "
                                "rocpd_string WHERE string = 'KernelExecution')"));
  SONDE_ASSIGN(counted.counted,
               database.integer("SELECT count(DISTINCT op_id) FROM sonde_op_counter"));
  SONDE_ASSIGN(counted.spoilt,
               database.integer("SELECT sum(count) FROM sonde_drop WHERE source = 'counters of "
                                "kernels that had to run beside others'"));
  SONDE_ASSIGN(
      counted.refused,
      texts(database, "SELECT DISTINCT value FROM sonde_note WHERE key = 'counters.refused'"));
  SONDE_ASSIGN(
      counted.not_replayed,
      texts(database, "SELECT DISTINCT value FROM sonde_note WHERE key = 'counters.not_replayed'"));
  SONDE_ASSIGN(
      counted.problems,
      texts(database, "SELECT DISTINCT text FROM sonde_diagnostic WHERE source = 'counters'"));
  return counted;
}

namespace {

Status note(const std::string& trace, const std::string& tag, const std::string& text) {
  SONDE_ASSIGN(Database database, Database::open(trace, Database::Mode::kReadWrite));
  return run(database, "INSERT INTO rocpd_metadata (tag, value) VALUES (?1, ?2)", tag, text);
}

}  // namespace

Status note_counting(const std::string& trace, const std::string& text) {
  return note(trace, "sonde::profile", text);
}

Status note_roofs(const std::string& trace, int64_t gpu, const std::string& text) {
  return note(trace, "sonde::roofs::" + std::to_string(gpu), text);
}

Result<JoinedCounters> join_counters(const std::string& trace, const std::string& other_run) {
  SONDE_ASSIGN(Database database, Database::open(trace, Database::Mode::kReadWrite));
  SONDE_ASSIGN(Database other, Database::open(other_run, Database::Mode::kReadOnly));
  return Joining(database, other).run();
}

}  // namespace sonde::store
