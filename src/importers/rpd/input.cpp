#include "importers/rpd/input.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "base/value_or.h"
#include "importers/rpd/tables.h"
#include "store/reader.h"
#include "store/scan.h"

namespace sonde::importers {

namespace {

using store::Row;

// New ids by old ones. Tables are read in the order of their ids.
class Ids {
 public:
  void add(int64_t old_id, int64_t new_id) { pairs_.push_back({old_id, new_id}); }
  int64_t at(int64_t old_id) const {
    const auto found =
        std::lower_bound(pairs_.begin(), pairs_.end(), old_id,
                         [](const auto& pair, int64_t id) { return pair.first < id; });
    return found != pairs_.end() && found->first == old_id ? found->second : 0;
  }
  void finish() { std::sort(pairs_.begin(), pairs_.end()); }

 private:
  std::vector<std::pair<int64_t, int64_t>> pairs_;
};

std::optional<int64_t> integer_or_none(const Row& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.integer(column);
}

class RpdInput {
 public:
  RpdInput(store::Reader& reader, Sink& sink, Tally& tally)
      : reader_(reader),
        database_(reader.database()),
        sink_(sink),
        tally_(tally),
        tables_(database_, sink, tally,
                {{"sonde_process", [this](int64_t id) { return process_of(id); }},
                 {"rocpd_api", [this](int64_t id) { return apis_.at(id); }},
                 {"rocpd_op", [this](int64_t id) { return ops_.at(id); }},
                 {"rocpd_string", [this](int64_t id) { return std::max<Name>(name_of(id), 1); }}}) {
  }

  Status read() {
    SONDE_TRY(strings());
    SONDE_TRY(processes());
    SONDE_TRY(apis());
    SONDE_TRY(ops());
    SONDE_TRY(streams());
    if (reader_.flavour() == store::Flavour::kV3) SONDE_TRY(copies());
    SONDE_TRY(launches());
    SONDE_TRY(values());
    if (reader_.made_by_sonde()) SONDE_TRY(facts());
    SONDE_TRY(rest());
    for (const std::string& note : reader_.notes()) tally_.remark(note);
    return ok_status();
  }

 private:
  template <typename OnRow>
  Status each(const char* columns, const char* source, OnRow&& on_row) {
    SONDE_TRY(store::scan(database_, columns, source, {}, on_row));
    return sink_.status();
  }
  // Of a table that only some files have.
  template <typename OnRow>
  Status each_of(const char* columns, const char* table, OnRow&& on_row) {
    SONDE_TRY(store::scan_of(database_, table, columns, table, on_row));
    return sink_.status();
  }
  Status strings();
  Status processes();
  Status apis();
  Status ops();
  Status streams();
  Status copies();
  Status launches();
  Status values();
  Status facts();
  Status losses();
  Status rest();

  Name name_of(int64_t id) const { return value_or(texts_, id).name; }
  // 0 where the file does not say whose it is.
  int64_t process_of(int64_t id) const { return value_or(processes_, id); }

  store::Reader& reader_;
  store::Database& database_;
  Sink& sink_;
  Tally& tally_;
  struct Text {
    Name name = 0;
    store::OpClass as_type = store::OpClass::kUnknown;
  };
  std::unordered_map<int64_t, Text> texts_;
  std::map<int64_t, int64_t> processes_;  // handle by the file's id
  Ids apis_, ops_;
  std::unordered_map<int64_t, uint64_t> streams_;  // by the file's id of the call
  RpdTables tables_;
};

Status RpdInput::strings() {
  return each("id, string", "v_string", [&](const Row& row) {
    texts_[row.integer(0)] = {sink_.name(row.text(1)), store::class_of_type(row.text(1))};
  });
}

Status RpdInput::processes() {
  SONDE_TRY(each("id, pid, ppid, command, rank", "(SELECT * FROM v_process ORDER BY start_ns)",
                 [&](const Row& row) {
                   const int64_t process = sink_.process(row.integer(1));
                   processes_[row.integer(0)] = process;
                   ProcessFacts facts;
                   facts.ppid = integer_or_none(row, 2);
                   facts.command = row.text(3);
                   facts.rank = integer_or_none(row, 4);
                   sink_.describe(process, facts);
                 }));
  return each("process_id, tid, name", "v_thread", [&](const Row& row) {
    if (process_of(row.integer(0)) == 0) return;
    sink_.thread(process_of(row.integer(0)), row.integer(1), row.text(2));
  });
}

Status RpdInput::apis() {
  SONDE_TRY(
      each("a.id, a.pid, a.tid, a.start_ns, a.end_ns, a.name_id, a.category_id, a.domain_id, "
           "u.string",
           "v_api a LEFT JOIN v_ustring u ON u.id = a.args_id", [&](const Row& row) {
             const auto known_name = [&](int column) {
               return row.is_null(column) ? 0 : name_of(row.integer(column));
             };
             apis_.add(row.integer(0),
                       sink_.api({sink_.process(row.integer(1)), row.integer(2), row.integer(3),
                                  row.integer(4), name_of(row.integer(5)), known_name(6),
                                  known_name(7), row.text(8)}));
           }));
  apis_.finish();
  return ok_status();
}

Status RpdInput::ops() {
  SONDE_TRY(
      each("o.id, o.gpu_id, o.queue_id, o.start_ns, o.end_ns, o.name_id, o.type_id, a.args, "
           "o.sequence_id",
           "v_op o LEFT JOIN v_op_args a ON a.op_id = o.id", [&](const Row& row) {
             ops_.add(row.integer(0),
                      sink_.op({row.integer(1), row.integer(2), row.integer(3), row.integer(4),
                                name_of(row.integer(5)), name_of(row.integer(6)), row.text(7),
                                row.integer_or(8, 0)}));
           }));
  ops_.finish();
  return ok_status();
}

Status RpdInput::streams() {
  auto take = [&](const Row& row) {
    const std::string text(row.text(1));
    if (text.empty()) return;
    streams_.try_emplace(row.integer(0), std::strtoull(text.c_str(), nullptr, 0));
  };
  SONDE_TRY(each("api_id, stream", "v_copy", take));
  return each_of("api_ptr_id, stream", "rocpd_kernelapi", take);
}

// The first row of a call counts, so launches() adds only what is missing.
Status RpdInput::copies() {
  SONDE_TRY(tables_.carry("rocpd_copyapi"));
  return ok_status();
}

Status RpdInput::launches() {
  std::unordered_map<int64_t, int64_t> call_of;  // of the file's ids: the first call of each op
  SONDE_TRY(each("op_id, api_id", "v_api_op", [&](const Row& row) {
    if (call_of.try_emplace(row.integer(0), row.integer(1)).second) return;
    const int64_t op = ops_.at(row.integer(0)), api = apis_.at(row.integer(1));
    if (op != 0 && api != 0) sink_.further_call(api, op);
  }));
  return each(
      "o.id, d.process_id, d.api_id, d.queued_ns, d.submitted_ns, d.bytes, d.grid_x, d.grid_y, "
      "d.grid_z, d.group_x, d.group_y, d.group_z, d.group_segment_bytes, "
      "d.private_segment_bytes, d.status, o.name_id, o.type_id",
      "v_op o LEFT JOIN v_op_detail d ON d.op_id = o.id", [&](const Row& row) {
        const int64_t call = value_or(call_of, row.integer(0), row.integer_or(2, 0));
        Launch launch;
        launch.op = ops_.at(row.integer(0));
        launch.api = apis_.at(call);
        launch.process = row.is_null(1) ? 0 : process_of(row.integer(1));
        launch.name = name_of(row.integer(15));
        launch.op_class = store::class_of_op(texts_[row.integer(16)].as_type, launch.name != 0);
        launch.queued_ns = row.integer_or(3, -1);
        launch.submitted_ns = row.integer_or(4, -1);
        launch.bytes = row.integer_or(5, -1);
        for (int i = 0; i < 3; ++i) {
          launch.group[i] = row.integer_or(9 + i, -1);
          launch.grid[i] = row.integer_or(6 + i, -1);
        }
        launch.group_segment_bytes = row.integer_or(12, -1);
        launch.private_segment_bytes = row.integer_or(13, -1);
        launch.status = row.integer_or(14, 0);
        const auto stream = streams_.find(call);
        if (stream != streams_.end()) launch.stream = stream->second;
        sink_.launch(launch);
      });
}

Status RpdInput::values() {
  SONDE_TRY(each("device_type, monitor_type, value, device_id, start_ns, end_ns", "v_monitor",
                 [&](const Row& row) {
                   sink_.sample({row.text(0), row.text(1), row.text(2), row.integer(3),
                                 row.integer(4), row.integer(5)});
                 }));
  SONDE_TRY(each_of("op_id, name_id, value", "rocpd_counter", [&](const Row& row) {
    const int64_t op = ops_.at(row.integer(0));
    if (op != 0) sink_.op_counter(op, name_of(row.integer(1)), row.real(2));
  }));
  return each_of("api_ptr_id, depth, name_id", "rocpd_stackframe", [&](const Row& row) {
    const int64_t api = apis_.at(row.integer(0));
    if (api != 0) {
      sink_.stack_frame(api, static_cast<int>(row.integer(1)), name_of(row.integer(2)));
    }
  });
}

// What only Sonde's files have.
Status RpdInput::facts() {
  SONDE_TRY(
      each("id, executable, host, clock, directory, exit", "sonde_process", [&](const Row& row) {
        ProcessFacts facts;
        facts.executable = row.text(1);
        facts.host = row.text(2);
        facts.clock = row.text(3);
        facts.directory = row.text(4);
        facts.exit = row.text(5);
        sink_.describe(process_of(row.integer(0)), facts);
      }));
  SONDE_TRY(each("process_id, tid, time_ns, name_id, value", "sonde_counter", [&](const Row& row) {
    sink_.counter({process_of(row.integer_or(0, -1)), row.integer_or(1, 0), row.integer(2),
                   name_of(row.integer(3)), row.real(4)});
  }));
  SONDE_TRY(each(
      "category_id, name_id, flow, phase, process_id, tid, time_ns", "v_flow", [&](const Row& row) {
        if (row.text(3).size() != 1) return;
        sink_.flow({name_of(row.integer(0)), name_of(row.integer(1)), row.text(2), row.text(3)[0],
                    process_of(row.integer_or(4, -1)), row.integer_or(5, 0), row.integer(6)});
      }));
  SONDE_TRY(each("api_id", "sonde_unfinished", [&](const Row& row) {
    if (const int64_t api = apis_.at(row.integer(0)); api != 0) sink_.unfinished(api);
  }));
  SONDE_TRY(each("process_id, key, value", "sonde_note", [&](const Row& row) {
    if (row.text(1) == "imported from" || row.text(1) == "imported as") return;
    sink_.note(process_of(row.integer_or(0, -1)), row.text(1), row.text(2));
  }));
  SONDE_TRY(each("tag, value", "rocpd_metadata", [&](const Row& row) {
    if (starts_with_any(row.text(0), {"sonde::"})) sink_.note(0, row.text(0), row.text(1));
  }));
  return losses();
}

Status RpdInput::losses() {
  SONDE_TRY(each("source, reason, count", "sonde_drop", [&](const Row& row) {
    tally_.remark(format_count(static_cast<uint64_t>(row.integer(2))) + " records of " +
                  std::string(row.text(0)) + " were lost: " + std::string(row.text(1)));
  }));
  return each("source, text", "sonde_diagnostic", [&](const Row& row) {
    tally_.remark(std::string(row.text(0)) + ": " + std::string(row.text(1)));
  });
}

// All other tables: as they are if the sink knows them, and what it does not is not lost in
// silence.
Status RpdInput::rest() {
  // Those that were read above, and those that follow from notes, links and arguments.
  static constexpr std::string_view kRead[] = {
      "sonde_process",    "sonde_thread",     "sonde_counter",    "sonde_op_args",
      "sonde_flow",       "sonde_note",       "sonde_drop",       "sonde_ingest",
      "sonde_diagnostic", "sonde_op_detail",  "sonde_unfinished", "sonde_code_object",
      "sonde_graph_op",   "sonde_kernel_code"};
  std::vector<std::string> others;
  SONDE_TRY(each("name", "sqlite_master WHERE type = 'table'", [&](const Row& row) {
    const std::string_view name = row.text(0);
    const bool is_read = std::find(std::begin(kRead), std::end(kRead), name) != std::end(kRead);
    if (starts_with_any(name, {"sonde_", "ext_"}) && !is_read) others.emplace_back(name);
  }));
  for (const std::string& table : others) {
    SONDE_ASSIGN(const bool carried, tables_.carry(table));
    if (carried) continue;
    SONDE_ASSIGN(const int64_t rows,
                 database_.integer("SELECT count(*) FROM " + store::quoted_name(table)));
    tally_.skip("rows of " + table + ", which merging does not know,", reader_.path(),
                static_cast<uint64_t>(rows));
  }
  return ok_status();
}

Sure sniff(const Head&) { return Sure::kNo; }

Status read(Source& source, Sink& sink, Tally& tally) {
  SONDE_ASSIGN(store::Reader reader, store::Reader::open(source.path()));
  return RpdInput(reader, sink, tally).read();
}

// The reading that is known best.
Result<Clock> clock(Source& source) {
  SONDE_ASSIGN(store::Reader reader, store::Reader::open(source.path()));
  Clock clock;
  if (!reader.made_by_sonde()) return clock;
  bool monotonic = true;
  SONDE_TRY(store::scan(reader.database(), "key", "sonde_note WHERE key = 'imported from'", {},
                        [&](const Row&) { monotonic = false; }));
  SONDE_TRY(store::scan(reader.database(), "value - monotonic_ns",
                        "(SELECT * FROM sonde_clock_snapshot WHERE clock = 'realtime' "
                        "ORDER BY coalesce(uncertainty_ns, 0) LIMIT 1)",
                        {}, [&](const Row& row) { clock.realtime_ns = row.integer(0); }));
  SONDE_TRY(store::scan(reader.database(), "host",
                        "sonde_process WHERE host IS NOT NULL ORDER BY id LIMIT 1", {},
                        [&](const Row& row) { clock.host = row.text(0); }));
  if (monotonic) clock.name = "monotonic";
  return clock;
}

}  // namespace

const Importer& rpd_input() {
  static const Importer kImporter = {"rpd", "a trace of Sonde or RPD", sniff, read, clock};
  return kImporter;
}

}  // namespace sonde::importers
