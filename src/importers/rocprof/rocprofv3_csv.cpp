// The CSV tables of rocprofv3 (docs/formats.md). They belong together: PREFIX_kernel_trace.csv has
// the kernels, PREFIX_hip_api_trace.csv the calls that launched them. So with one of them all
// tables of its folder and prefix are read.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/numbered.h"
#include "base/strings.h"
#include "base/value_or.h"
#include "importers/importer.h"
#include "importers/input/csv_table.h"
#include "importers/rocprof/names.h"
#include "importers/rocprof/rows.h"
#include "importers/sink/call_table.h"

namespace sonde::importers {

namespace {

Sure sniff(const Head& head) {
  const std::string_view bytes = head.bytes;
  for (const auto& columns :
       {std::initializer_list<std::string_view>{"Kernel_Name", "Dispatch_Id", "Start_Timestamp"},
        {"Domain", "Function", "Start_Timestamp", "End_Timestamp"},
        {"Direction", "Source_Agent_Id", "Start_Timestamp"},
        {"Operation", "Allocation_Size", "Start_Timestamp"},
        {"Counter_Name", "Counter_Value", "Dispatch_Id"},
        {"Node_Id", "Agent_Type"}}) {
    if (has_columns(bytes, columns)) return Sure::kCertain;
  }
  return Sure::kNo;
}

// The words between prefix and ".csv", in the order in which the tables are read: what others
// refer to comes first.
constexpr std::string_view kKinds[] = {
    "agent_info",          "hip_api_trace",     "hsa_api_trace",           "rccl_api_trace",
    "rocdecode_api_trace", "rocjpeg_api_trace", "marker_api_trace",        "kernel_trace",
    "counter_collection",  "memory_copy_trace", "memory_allocation_trace", "scratch_memory_trace"};
constexpr std::string_view kApiTrace = "_api_trace";

struct Member {
  std::string path, kind;
};

// The kind of a file by its name; "" if it has none of those.
std::string kind_of(std::string_view name, std::string_view& prefix) {
  for (const std::string_view extension : {".csv.gz", ".csv"}) {
    if (!name.ends_with(extension)) continue;
    name.remove_suffix(extension.size());
    for (const std::string_view kind : kKinds) {
      if (!name.ends_with(kind)) continue;
      prefix = name.substr(0, name.size() - kind.size());
      return std::string(kind);
    }
    if (name.ends_with(kApiTrace)) {  // of an API that rocprofv3 does not know: opencl_api_trace
      const size_t begin = name.rfind('_', name.size() - kApiTrace.size() - 1);
      const size_t at = begin == std::string_view::npos ? 0 : begin + 1;
      prefix = name.substr(0, at);
      return std::string(name.substr(at));
    }
  }
  return {};
}

size_t order_of(const std::string& kind) {
  const auto* const at = std::find(std::begin(kKinds), std::end(kKinds), kind);
  return at == std::end(kKinds) ? 1 : static_cast<size_t>(at - std::begin(kKinds));
}

// `path` and its siblings in reading order. A file that is not named as rocprofv3 names them stands
// alone, as what its columns say.
std::vector<Member> members_of(const std::string& path) {
  const std::filesystem::path file(path);
  std::string_view prefix;
  const std::string name = file.filename();
  if (kind_of(name, prefix).empty()) return {{path, ""}};
  std::vector<Member> members;
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string other = entry.path().filename();
    std::string_view other_prefix;
    const std::string kind = kind_of(other, other_prefix);
    if (!kind.empty() && other_prefix == prefix) {
      members.push_back({other == name ? path : entry.path().string(), kind});
    }
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::pair(order_of(a.kind), a.path) < std::pair(order_of(b.kind), b.path);
  });
  return members;
}

class SetReader {
 public:
  SetReader(Sink& sink, Tally& tally) : sink_(sink), tally_(tally) {}

  Status read(Source& source) {
    SONDE_ASSIGN(CsvTable table, CsvTable::open(source));
    void (SetReader::*const row)(CsvTable&) = reader_of(table);
    if (row == nullptr) {
      tally_.remark(source.path() + " is a table that is not imported");
      return ok_status();
    }
    while (true) {
      SONDE_ASSIGN(const bool more, table.next());
      if (!more) return sink_.status();
      if (table.fields() == table.columns().size()) {
        (this->*row)(table);
      } else {
        tally_.skip("rows of another length than the header", table.place());
      }
    }
  }
  // After the table of agents: which of its numbers the kernels say.
  Status look_at_agents(const std::vector<Member>& members);
  // After the last table: links the operations whose process is not told.
  void finish();

 private:
  using RowReader = void (SetReader::*)(CsvTable&);
  static RowReader reader_of(const CsvTable& table) {
    if (table.has("Counter_Name")) return &SetReader::counter;
    if (table.has("Kernel_Name")) return &SetReader::kernel;
    if (table.has("Direction")) return &SetReader::copy;
    if (table.has("Allocation_Size") || table.has("Alloc_Flags")) return &SetReader::memory;
    if (table.has("Function")) return &SetReader::api;
    if (table.has("Agent_Type")) return &SetReader::agent;
    return nullptr;
  }

  bool times(const CsvTable& table, int64_t& start_ns, int64_t& end_ns) {
    start_ns = table.integer_or("Start_Timestamp", -1);
    end_ns = table.integer_or("End_Timestamp", -1);
    if (start_ns >= 0 && end_ns >= start_ns) return true;
    tally_.skip("rows without a time, or that end before they start", table.place());
    return false;
  }
  void agent(CsvTable& table);
  void api(CsvTable& table);
  void kernel(CsvTable& table);
  void counter(CsvTable& table);
  void copy(CsvTable& table);
  void memory(CsvTable& table);
  int64_t owner(const CsvTable& table);
  void launch(const CsvTable& table, const Op& op, std::string_view agent, Launch launch);

  int64_t gpu(std::string_view agent) const;
  // Tables of operations do not name the process: it is that of the calls, if there is one alone.
  int64_t process(const CsvTable& table) {
    if (const auto pid = table.integer("Process_Id")) return sink_.process(*pid);
    return sink_.process(only_pid_);
  }

  Sink& sink_;
  Tally& tally_;
  static constexpr int64_t kNoGpu = -1;
  int64_t hosts_ = 0, gpus_ = 0;                                       // in the table of agents
  std::unordered_map<int64_t, int64_t> gpu_of_node_, gpu_of_logical_;  // kNoGpu: a CPU
  bool by_node_ = false;  // "Agent 3" is the agent with this Node_Id
  int64_t only_pid_ = 0;
  bool several_pids_ = false;
  static constexpr int64_t kSeveral = -1;
  CallTable calls_;
  std::unordered_map<int64_t, int64_t> process_of_tid_;  // kSeveral: of several
  struct Waiting {  // an operation of a set of several processes
    Launch launch;
    int64_t correlation, start_ns;
    std::string agent;
  };
  std::vector<Waiting> waiting_;
  std::unordered_map<int64_t, int64_t> op_of_dispatch_;
};

void SetReader::agent(CsvTable& table) {
  const bool host = table.text("Agent_Type") == "CPU";
  const int64_t logical = table.integer_or("Logical_Node_Id", -1);
  // Logical numbers have gaps only in Sonde's exports, whose GPUs keep their numbers.
  const int64_t gpu = host ? kNoGpu : logical < 0 ? gpus_ : std::max<int64_t>(logical - hosts_, 0);
  gpu_of_node_.try_emplace(table.integer_or("Node_Id", -1), gpu);
  gpu_of_logical_.try_emplace(logical, gpu);
  ++(host ? hosts_ : gpus_);
  if (host) return;
  const std::string name = valid_utf8(
      table.text("Product_Name").empty() ? table.text("Name") : table.text("Product_Name"));
  const std::string vendor = valid_utf8(table.text("Vendor_Name"));
  sink_.device({.gpu = gpu,
                .backend = "hip",
                .name = name,
                .vendor = vendor,
                .kind = "gpu",
                .memory_bytes = table.integer("Local_Mem_Size"),
                .compute_units = table.integer("Cu_Count")});
}

// A kernel on what is no GPU by its logical number: rocprofv3 ran with --agent-index absolute.
Status SetReader::look_at_agents(const std::vector<Member>& members) {
  for (const Member& member : members) {
    std::error_code error;
    if (gpu_of_node_ == gpu_of_logical_ || by_node_) return ok_status();
    if (member.kind != "kernel_trace" && member.kind != "counter_collection") continue;
    if (!std::filesystem::is_regular_file(member.path, error)) continue;  // can be read only once
    SONDE_ASSIGN(Source source, Source::open(member.path));
    SONDE_ASSIGN(CsvTable table, CsvTable::open(source));
    while (!by_node_) {
      SONDE_ASSIGN(const bool more, table.next());
      if (!more) break;
      const std::string_view agent = table.text("Agent_Id");
      const auto number = parse_int(agent.substr(agent.rfind(' ') + 1));
      by_node_ = number && value_or(gpu_of_logical_, *number, kNoGpu) == kNoGpu &&
                 value_or(gpu_of_node_, *number, kNoGpu) != kNoGpu;
    }
  }
  return ok_status();
}

// "GPU 0" counts GPUs, "Agent 3" all agents that the program saw, or with --agent-index absolute
// those of the machine, as "3" of older versions does. Without a table of agents it is the number.
int64_t SetReader::gpu(std::string_view agent) const {
  const size_t blank = agent.rfind(' ');
  const auto number = parse_int(agent.substr(blank + 1));
  if (!number) return 0;
  if (agent.starts_with("GPU ")) return *number;
  if (agent.starts_with("CPU ")) return kNoGpu;
  const bool by_node = by_node_ || blank == std::string_view::npos;
  const auto& first = by_node ? gpu_of_node_ : gpu_of_logical_;
  const auto& second = by_node ? gpu_of_logical_ : gpu_of_node_;
  return value_or(first, *number, value_or(second, *number, *number - hosts_));
}

void SetReader::api(CsvTable& table) {
  Api row;
  if (!times(table, row.start_ns, row.end_ns)) return;
  const std::string_view domain = table.text("Domain");
  const int64_t pid = table.integer_or("Process_Id", 0);
  if (only_pid_ != 0 && only_pid_ != pid) several_pids_ = true;
  only_pid_ = several_pids_ ? 0 : pid;
  row.process = sink_.process(pid);
  row.tid = table.integer_or("Thread_Id", 0);
  row.category = sink_.name(valid_utf8(domain));
  row.domain = sink_.name(domain_of_kind(domain));
  const std::string function = valid_utf8(table.text("Function"));
  if (is_marker_kind(domain)) {
    row.name = sink_.name("UserMarker");
    row.args = function;
  } else {
    row.name = sink_.name(function);
  }
  const int64_t correlation = table.integer_or("Correlation_Id", 0);
  const int64_t id = sink_.api(row);
  if (correlation > 0) calls_.add({row.process, correlation, row.start_ns, row.end_ns, id});
  const auto [known, is_new] = process_of_tid_.try_emplace(row.tid, row.process);
  if (!is_new && known->second != row.process) known->second = kSeveral;
  tally_.count(domain);
}

// Newer tables of operations name the thread that launched them.
int64_t SetReader::owner(const CsvTable& table) {
  const auto known = process_of_tid_.find(table.integer_or("Thread_Id", -1));
  if (!several_pids_ || known == process_of_tid_.end() || known->second == kSeveral) {
    return process(table);
  }
  return known->second;
}

void SetReader::launch(const CsvTable& table, const Op& op, std::string_view agent, Launch launch) {
  const int64_t correlation = table.integer_or("Correlation_Id", 0);
  launch.process = owner(table);
  launch.stream = stream_unless_0(table.integer_or("Stream_Id", 0));
  launch.api = calls_.find(launch.process, correlation, op.start_ns);
  if (launch.api == 0 && correlation > 0 && calls_.processes().size() > 1) {
    waiting_.push_back({launch, correlation, op.start_ns, std::string(agent)});
  } else {
    sink_.launch(launch);
  }
}

void SetReader::finish() {
  std::vector<std::string> agents;
  TextNumbering numbers(agents);
  std::vector<std::string> processes(calls_.processes().size());  // have no names here
  std::vector<TrackedOp> ops;
  for (const Waiting& one : waiting_) {
    ops.push_back({numbers.index(one.agent), one.correlation, one.start_ns});
  }
  const Launchers launchers = who_launched(calls_, ops, agents, processes);
  for (size_t i = 0; i < waiting_.size(); ++i) {
    Launch& launch = waiting_[i].launch;
    if (const CallTable::Call* call = launchers.calls[i]; call != nullptr) {
      launch.api = call->id;
      launch.process = call->process;
    }
    sink_.launch(launch);
  }
  if (launchers.guessed_tracks == 0) return;
  tally_.remark(
      "several processes use the same correlation numbers, and the tables do not say whose the "
      "operations are: GPUs are given to the processes in the order of the tables");
}

void SetReader::kernel(CsvTable& table) {
  Op op;
  if (!times(table, op.start_ns, op.end_ns)) return;
  op.gpu = gpu(table.text("Agent_Id"));
  op.queue = table.integer_or("Queue_Id", 0);
  op.name = sink_.name(valid_utf8(table.text("Kernel_Name")));
  op.type = sink_.name("KernelExecution");
  std::string args;
  for (const char* const column : {"VGPR_Count", "Accum_VGPR_Count", "SGPR_Count"}) {
    if (const auto value = table.integer(column)) {
      args += fmt::format("{}{} = {}", args.empty() ? "" : " | ", column, *value);
    }
  }
  op.args = args;
  Launch launch;
  launch.op = sink_.op(op);
  launch.name = op.name;
  launch.op_class = store::OpClass::kKernel;
  launch.group_segment_bytes = table.integer_or("LDS_Block_Size", -1);
  launch.private_segment_bytes = table.integer_or("Scratch_Size", -1);
  const char* const axes[3] = {"X", "Y", "Z"};
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = table.integer_or(std::string("Grid_Size_") + axes[i], -1);
    launch.group[i] = table.integer_or(std::string("Workgroup_Size_") + axes[i], -1);
  }
  // counter_collection has the product only.
  if (const auto items = table.integer("Grid_Size")) set_axes(launch.grid, *items);
  if (const auto group = table.integer("Workgroup_Size")) set_axes(launch.group, *group);
  this->launch(table, op, table.text("Agent_Id"), launch);
  const std::string kernel = valid_utf8(table.text("Kernel_Name"));
  sink_.kernel_code({owner(table), op.gpu, kernel, table.integer_or("VGPR_Count", -1),
                     table.integer_or("Accum_VGPR_Count", -1), table.integer_or("SGPR_Count", -1)});
  op_of_dispatch_[table.integer_or("Dispatch_Id", -1)] = launch.op;
  tally_.count("KERNEL_DISPATCH");
}

// A dispatch has a row for each of its counters, and is a kernel of its own where there is no
// kernel_trace.
void SetReader::counter(CsvTable& table) {
  const int64_t dispatch = table.integer_or("Dispatch_Id", -1);
  if (op_of_dispatch_.count(dispatch) == 0) kernel(table);
  const auto op = op_of_dispatch_.find(dispatch);
  const std::string text(table.text("Counter_Value"));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (op == op_of_dispatch_.end() || text.empty() || *end != '\0') {
    tally_.skip("counter values without a number or a kernel", table.place());
    return;
  }
  sink_.op_counter(op->second, sink_.name(valid_utf8(table.text("Counter_Name"))), value);
  tally_.count("counters");
}

void SetReader::copy(CsvTable& table) {
  Op op;
  if (!times(table, op.start_ns, op.end_ns)) return;
  const std::string_view type = memory_op_type(table.text("Direction"));
  const bool to_host = type == "CopyDeviceToHost";
  const std::string_view agent = table.text(to_host ? "Source_Agent_Id" : "Destination_Agent_Id");
  op.gpu = gpu(agent);
  op.queue = -1;  // a copy engine, which the table does not name
  op.type = sink_.name(valid_utf8(type));
  Launch launch;
  launch.op = sink_.op(op);
  launch.op_class = store::OpClass::kCopy;
  launch.bytes = table.integer_or("Size_Bytes", -1);  // Sonde's exports have it
  this->launch(table, op, agent, launch);
  tally_.count("MEMORY_COPY");
}

// Allocations and scratch: calls whose arguments are what they gave.
void SetReader::memory(CsvTable& table) {
  Api row;
  if (!times(table, row.start_ns, row.end_ns)) return;
  const std::string args =
      valid_utf8(fmt::format("agent = {} | address = {} | size = {}", table.text("Agent_Id"),
                             table.text("Address"), table.text("Allocation_Size")));
  row.process = process(table);
  row.tid = table.integer_or("Thread_Id", 0);
  row.category = sink_.name(valid_utf8(table.text("Kind")));
  row.domain = sink_.name("memory");
  row.name = sink_.name(valid_utf8(table.text("Operation")));
  row.args = args;
  sink_.api(row);
  tally_.count(table.text("Kind"));
}

Status read(Source& source, Sink& sink, Tally& tally) {
  SetReader reader(sink, tally);
  std::string also;
  const std::vector<Member> members = members_of(source.path());
  for (const Member& member : members) {
    if (member.path == source.path()) {
      SONDE_TRY(reader.read(source));
    } else {
      SONDE_ASSIGN(Source other, Source::open(member.path));
      SONDE_TRY(reader.read(other));
      also += (also.empty() ? "" : ", ") + std::filesystem::path(member.path).filename().string();
    }
    if (member.kind == "agent_info") SONDE_TRY(reader.look_at_agents(members));
  }
  reader.finish();
  if (!also.empty()) tally.remark("read with it: " + also);
  return ok_status();
}

Result<Clock> clock(Source&) { return Clock{"boottime"}; }

}  // namespace

Importer rocprofv3_csv_importer() {
  return {"rocprofv3-csv", "the CSV tables of rocprofv3; given one, all are read", sniff, read,
          clock};
}

}  // namespace sonde::importers
