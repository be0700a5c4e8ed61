// rocpd databases (docs/formats.md): the SQLite output of rocprofv3, schema 3. The tables carry the
// guid of a recording in their names; a file may hold several recordings, also of several machines.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/strings.h"
#include "base/value_or.h"
#include "importers/importer.h"
#include "importers/rocprof/names.h"
#include "importers/sink/call_table.h"
#include "importers/sink/strides.h"
#include "store/database.h"
#include "store/input_file.h"
#include "store/scan.h"

namespace sonde::importers {

namespace {

using store::Database;
using store::Row;

Sure sniff(const Head& head) {
  if (!store::is_sqlite(head.bytes)) return Sure::kNo;
  return head.has("rocpd_info_agent") ? Sure::kCertain : Sure::kNo;
}

class RecordingReader {
 public:
  // `suffix` is what the names of this recording's tables end in; `machine` counts from 0.
  RecordingReader(Database& database, std::string suffix, int64_t machine, Sink& sink, Tally& tally)
      : database_(database),
        suffix_(std::move(suffix)),
        first_pid_(machine * kPidStride),
        first_gpu_(machine * kGpuStride),
        sink_(sink),
        tally_(tally) {}

  Status read() {
    SONDE_TRY(strings());
    SONDE_TRY(processes());
    SONDE_TRY(agents());
    SONDE_TRY(arguments());
    SONDE_TRY(regions());
    SONDE_TRY(samples());
    SONDE_TRY(counters());
    SONDE_TRY(kernels());
    SONDE_TRY(op_counters());
    SONDE_TRY(copies());
    SONDE_TRY(allocations());
    return sink_.status();
  }

 private:
  std::string table(const char* base) const { return store::quoted_name(base + suffix_); }
  template <typename OnRow>
  Status scan(const std::string& columns, const std::string& source, OnRow&& on_row) {
    return store::scan(database_, columns, source, {}, on_row);
  }
  std::string event_join(const char* base) const {
    return fmt::format("{} X LEFT JOIN {} E ON E.id = X.event_id", table(base),
                       table("rocpd_event"));
  }

  Status strings();
  Status processes();
  Status agents();
  Status arguments();
  Status regions();
  Status samples();
  Status counters();
  Status kernels();
  Status op_counters();
  Status copies();
  Status allocations();

  struct Agent {
    bool gpu = false;
    int64_t number = -1;
  };
  std::string_view string(int64_t id) const { return value_or(strings_, id); }
  int64_t process(int64_t id) {
    const auto at = processes_.find(id);
    return at == processes_.end() ? sink_.process(first_pid_ + id) : at->second;
  }
  int64_t tid(const Row& row, int column) const {
    return value_or(tids_, row.integer(column), row.integer(column));
  }
  bool has_times(int64_t start_ns, int64_t end_ns, const char* base);
  void add_call(const Row& row, int64_t start_ns, int64_t end_ns);
  int64_t launch(const Row& row, Op op, Launch launch, int first_shared_column);  // the op

  Database& database_;
  const std::string suffix_;
  const int64_t first_pid_, first_gpu_;
  Sink& sink_;
  Tally& tally_;
  std::unordered_map<int64_t, std::string> strings_;
  std::unordered_map<int64_t, int64_t> processes_, tids_, queues_;
  std::unordered_map<int64_t, Agent> agents_;
  struct Kernel {
    std::string text;
    Name name = 0;
    KernelCode code;  // its registers
  };
  std::unordered_map<int64_t, Kernel> kernels_;
  std::unordered_map<int64_t, std::string> arguments_;  // by event
  std::unordered_map<int64_t, int64_t> kernel_ops_;     // by event
  CallTable calls_;
};

bool RecordingReader::has_times(int64_t start_ns, int64_t end_ns, const char* base) {
  if (start_ns > 0 && end_ns >= start_ns) return true;
  tally_.skip("rows without a time, or that end before they start", database_.path() + ":" + base);
  return false;
}

Status RecordingReader::strings() {
  SONDE_TRY(scan("id, string", table("rocpd_string"),
                 [&](const Row& row) { strings_[row.integer(0)] = valid_utf8(row.text(1)); }));
  SONDE_TRY(
      scan("id, kernel_name, display_name", table("rocpd_info_kernel_symbol"), [&](const Row& row) {
        const std::string_view name = row.text(1).empty() ? row.text(2) : kernel_name(row.text(1));
        Kernel& kernel = kernels_[row.integer(0)];
        kernel.text = valid_utf8(name);
        kernel.name = sink_.name(kernel.text);
      }));
  SONDE_ASSIGN(const bool has_registers,
               database_.has_column("rocpd_info_kernel_symbol" + suffix_, "arch_vgpr_count"));
  if (!has_registers) return ok_status();
  return scan("id, arch_vgpr_count, accum_vgpr_count, sgpr_count",
              table("rocpd_info_kernel_symbol"), [&](const Row& row) {
                KernelCode& code = kernels_[row.integer(0)].code;
                code.vgprs = row.integer_or(1, -1);
                code.agprs = row.integer_or(2, -1);
                code.sgprs = row.integer_or(3, -1);
              });
}

Status RecordingReader::processes() {
  SONDE_TRY(
      scan("P.id, P.pid, P.ppid, P.command, N.hostname, "
           "json_extract(CASE json_valid(P.extdata) WHEN 1 THEN P.extdata END, '$.rank')",
           fmt::format("{} P LEFT JOIN {} N ON N.id = P.nid", table("rocpd_info_process"),
                       table("rocpd_info_node")),
           [&](const Row& row) {
             const int64_t handle = sink_.process(first_pid_ + row.integer(1));
             processes_[row.integer(0)] = handle;
             ProcessFacts facts;
             if (!row.is_null(2)) facts.ppid = row.integer(2);
             if (!row.is_null(5)) facts.rank = row.integer(5);
             facts.command = row.text(3);
             facts.host = row.text(4);
             facts.clock = "boottime";
             sink_.describe(handle, facts);
           }));
  return scan("id, pid, tid, name", table("rocpd_info_thread"), [&](const Row& row) {
    tids_[row.integer(0)] = row.integer(2);
    if (!row.text(3).empty()) {
      sink_.thread(process(row.integer(1)), row.integer(2), valid_utf8(row.text(3)));
    }
  });
}

Status RecordingReader::agents() {
  SONDE_TRY(scan("id, pid, type, type_index, product_name, name, vendor_name",
                 table("rocpd_info_agent"), [&](const Row& row) {
                   Agent agent;
                   agent.gpu = row.text(2) == "GPU";
                   agent.number = first_gpu_ + row.integer_or(3, row.integer(0));
                   agents_[row.integer(0)] = agent;
                   if (!agent.gpu) return;
                   const std::string name =
                       valid_utf8(row.text(4).empty() ? row.text(5) : row.text(4));
                   const std::string vendor = valid_utf8(row.text(6));
                   sink_.device({.process = process(row.integer(1)),
                                 .gpu = agent.number,
                                 .backend = "hip",
                                 .name = name,
                                 .vendor = vendor,
                                 .kind = "gpu"});
                 }));
  // "Queue 3": the id is only a key.
  return scan("id, name", table("rocpd_info_queue"), [&](const Row& row) {
    const std::string_view name = row.text(1);
    const size_t blank = name.rfind(' ');
    const auto number =
        blank == std::string_view::npos ? std::nullopt : parse_int(name.substr(blank + 1));
    queues_[row.integer(0)] = number.value_or(row.integer(0));
  });
}

Status RecordingReader::arguments() {
  if (!sink_.wants().args) return ok_status();
  return scan("event_id, name, value", table("rocpd_arg") + " ORDER BY event_id, position",
              [&](const Row& row) {
                std::string& text = arguments_[row.integer(0)];
                if (!text.empty()) text += " | ";
                text += fmt::format("{} = {}", valid_utf8(row.text(1)), valid_utf8(row.text(2)));
              });
}

// Columns: id, pid, tid, name, event id, category, stack id, message.
void RecordingReader::add_call(const Row& row, int64_t start_ns, int64_t end_ns) {
  const std::string_view category = string(row.integer(5));
  const std::string message = valid_utf8(row.text(7));
  Api api;
  api.process = process(row.integer(1));
  api.tid = tid(row, 2);
  api.start_ns = start_ns;
  api.end_ns = end_ns;
  api.category = sink_.name(category);
  api.domain = sink_.name(domain_of_kind(category));
  if (is_marker_kind(category)) {
    api.name = sink_.name("UserMarker");
    api.args = row.is_null(7) ? string(row.integer(3)) : message;
  } else {
    api.name = sink_.name(string(row.integer(3)));
    api.args = value_or(arguments_, row.integer(4));
  }
  const int64_t id = sink_.api(api);
  if (row.integer(6) > 0) calls_.add({api.process, row.integer(6), start_ns, end_ns, id});
  tally_.count("region");
}

const char* const kMessage =
    "json_extract(CASE json_valid(E.extdata) WHEN 1 THEN E.extdata END, '$.message')";

Status RecordingReader::regions() {
  return scan(fmt::format("X.id, X.pid, X.tid, X.name_id, E.id, E.category_id, E.stack_id, {}, "
                          "X.start, X.\"end\"",
                          kMessage),
              event_join("rocpd_region"), [&](const Row& row) {
                if (has_times(row.integer(8), row.integer(9), "rocpd_region")) {
                  add_call(row, row.integer(8), row.integer(9));
                }
              });
}

// A sample without counter values is a region without length. Nothing indexes the values by event,
// so they are read once: NOT EXISTS would read them for each sample.
Status RecordingReader::samples() {
  return scan(
      fmt::format("X.id, T.pid, T.tid, T.name_id, E.id, E.category_id, E.stack_id, {}, X.timestamp",
                  kMessage),
      fmt::format("{} JOIN {} T ON T.id = X.track_id WHERE X.event_id IS NULL OR X.event_id NOT IN "
                  "(SELECT P.event_id FROM {} P WHERE P.event_id IS NOT NULL)",
                  event_join("rocpd_sample"), table("rocpd_track"), table("rocpd_pmc_event")),
      [&](const Row& row) { add_call(row, row.integer(8), row.integer(8)); });
}

Status RecordingReader::counters() {
  return scan("T.pid, T.tid, X.timestamp, C.name, P.value",
              fmt::format("{} X JOIN {} P ON P.event_id = X.event_id JOIN {} C ON C.id = P.pmc_id "
                          "JOIN {} T ON T.id = X.track_id",
                          table("rocpd_sample"), table("rocpd_pmc_event"), table("rocpd_info_pmc"),
                          table("rocpd_track")),
              [&](const Row& row) {
                sink_.counter({process(row.integer(0)), row.is_null(1) ? 0 : tid(row, 1),
                               row.integer(2), sink_.name(valid_utf8(row.text(3))), row.real(4)});
                tally_.count("counter");
              });
}

// Columns from `first`: pid, stack id, stream id.
int64_t RecordingReader::launch(const Row& row, Op op, Launch launch, int first) {
  launch.op = sink_.op(op);
  launch.process = process(row.integer(first));
  launch.api = calls_.find(launch.process, row.integer(first + 1), op.start_ns);
  launch.stream = stream_unless_0(row.integer(first + 2));
  launch.name = op.name;
  sink_.launch(launch);
  return launch.op;
}

Status RecordingReader::kernels() {
  const Name type = sink_.name("KernelExecution");
  return scan(
      "X.start, X.\"end\", X.agent_id, X.queue_id, X.kernel_id, X.private_segment_size, "
      "X.group_segment_size, X.workgroup_size_x, X.workgroup_size_y, X.workgroup_size_z, "
      "X.grid_size_x, X.grid_size_y, X.grid_size_z, X.pid, E.stack_id, X.stream_id, X.event_id",
      event_join("rocpd_kernel_dispatch"), [&](const Row& row) {
        if (!has_times(row.integer(0), row.integer(1), "rocpd_kernel_dispatch")) return;
        Op op;
        op.start_ns = row.integer(0);
        op.end_ns = row.integer(1);
        op.gpu = agents_[row.integer(2)].number;
        op.queue = value_or(queues_, row.integer(3), row.integer(3));
        const auto kernel = kernels_.find(row.integer(4));
        if (kernel != kernels_.end()) {
          op.name = kernel->second.name;
          KernelCode code = kernel->second.code;
          code.process = process(row.integer(13));
          code.gpu = op.gpu;
          code.kernel = kernel->second.text;
          if (code.vgprs >= 0) sink_.kernel_code(code);
        }
        op.type = type;
        Launch facts;
        facts.op_class = store::OpClass::kKernel;
        facts.private_segment_bytes = row.integer_or(5, -1);
        facts.group_segment_bytes = row.integer_or(6, -1);
        for (int i = 0; i < 3; ++i) {  // 0 in a column that cannot be NULL: not known
          if (row.integer(7 + i) > 0) facts.group[i] = row.integer(7 + i);
          if (row.integer(10 + i) > 0) facts.grid[i] = row.integer(10 + i);
        }
        kernel_ops_[row.integer(16)] = launch(row, op, facts, 13);
        tally_.count("kernel_dispatch");
      });
}

// Hardware counters, a row for each part of the GPU that counted.
Status RecordingReader::op_counters() {
  return scan("P.event_id, C.name, P.value",
              fmt::format("{} P JOIN {} C ON C.id = P.pmc_id", table("rocpd_pmc_event"),
                          table("rocpd_info_pmc")),
              [&](const Row& row) {
                const auto op = kernel_ops_.find(row.integer(0));
                if (op == kernel_ops_.end()) return;
                sink_.op_counter(op->second, sink_.name(valid_utf8(row.text(1))), row.real(2));
                tally_.count("kernel_counter");
              });
}

Status RecordingReader::copies() {
  return scan(
      "X.start, X.\"end\", X.name_id, X.dst_agent_id, X.src_agent_id, X.size, X.queue_id, "
      "X.extdata LIKE '%\"size\":null%', X.pid, E.stack_id, X.stream_id",
      event_join("rocpd_memory_copy"), [&](const Row& row) {
        if (!has_times(row.integer(0), row.integer(1), "rocpd_memory_copy")) return;
        Op op;
        op.start_ns = row.integer(0);
        op.end_ns = row.integer(1);
        const Agent& to = agents_[row.integer(3)];
        op.gpu = to.gpu ? to.number : agents_[row.integer(4)].number;
        op.queue = value_or(queues_, row.integer_or(6, -1), row.integer_or(6, -1));
        op.type = sink_.name(memory_op_type(string(row.integer(2))));
        Launch facts;
        facts.op_class = store::OpClass::kCopy;
        if (row.integer(7) == 0) facts.bytes = row.integer(5);
        launch(row, op, facts, 8);
        tally_.count("memory_copy");
      });
}

// Allocations are calls whose arguments are what they gave.
Status RecordingReader::allocations() {
  const Name domain = sink_.name("memory");
  return scan("pid, tid, start, \"end\", type, level, agent_id, address, size",
              table("rocpd_memory_allocate"), [&](const Row& row) {
                if (!has_times(row.integer(2), row.integer(3), "rocpd_memory_allocate")) return;
                const std::string args = fmt::format(
                    "level = {} | agent = {} | address = {:#x} | size = {}", row.text(5),
                    row.integer(6), static_cast<uint64_t>(row.integer(7)), row.integer(8));
                sink_.api({process(row.integer(0)), tid(row, 1), row.integer(2), row.integer(3),
                           sink_.name(row.text(4)), sink_.name("MEMORY_ALLOCATION"), domain, args});
                tally_.count("memory_allocate");
              });
}

// What tells the machine of a recording from others; "" if the file does not say.
Result<std::string> machine_of(Database& database, const std::string& suffix) {
  const std::string table = "rocpd_info_node" + suffix;
  SONDE_ASSIGN(const bool has_id, database.has_column(table, "machine_id"));
  return database.text(fmt::format("SELECT {} coalesce(hostname, '') FROM {} LIMIT 1",
                                   has_id ? "coalesce(machine_id, '') || ' ' ||" : "",
                                   store::quoted_name(table)));
}

Status read(Source& source, Sink& sink, Tally& tally) {
  SONDE_ASSIGN(Database database, store::open_input(source.path()));
  std::vector<std::string> suffixes;
  SONDE_TRY(store::scan(database, "substr(name, 15)",
                        "sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_metadata%'", {},
                        [&](const Row& row) { suffixes.emplace_back(row.text(0)); }));
  if (suffixes.empty()) {
    return make_error(ErrorCode::kBadData, "no rocpd_metadata table", source.path(),
                      "give a database of rocprofv3");
  }
  std::vector<std::string> machines;
  for (const std::string& suffix : suffixes) {
    SONDE_ASSIGN(std::string machine, machine_of(database, suffix));
    const auto known = std::find(machines.begin(), machines.end(), machine);
    const int64_t number = known - machines.begin();
    if (known == machines.end()) machines.push_back(std::move(machine));
    SONDE_TRY(RecordingReader(database, suffix, number, sink, tally).read());
  }
  if (machines.size() > 1) {
    tally.remark(
        "recordings of several machines: their processes and GPUs are numbered as those of several "
        "files, and their times are as in the file, which does not relate the machines' clocks");
  }
  return ok_status();
}

Result<Clock> clock(Source&) { return Clock{"boottime"}; }

}  // namespace

Importer rocpd_importer() {
  return {"rocpd", "the SQLite database of rocprofv3 (schema 3)", sniff, read, clock};
}

}  // namespace sonde::importers
