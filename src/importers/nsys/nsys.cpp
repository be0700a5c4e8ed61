// Nsight Systems' SQLite (docs/formats.md): what `nsys export --type sqlite` writes. Tables are
// there only where something was recorded, and versions differ in their columns; names are numbers
// of StringIds. Times count from the session's start.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/strings.h"
#include "base/value_or.h"
#include "importers/importer.h"
#include "importers/input/copy_type.h"
#include "importers/sink/call_table.h"
#include "store/database.h"
#include "store/input_file.h"
#include "store/scan.h"

namespace sonde::importers {

namespace {

using store::Database;
using store::Row;

Sure sniff(const Head& head) {
  if (!store::is_sqlite(head.bytes)) return Sure::kNo;
  const bool named = head.has("StringIds");
  if (named &&
      (head.has("CUPTI_ACTIVITY_KIND_") || head.has("NVTX_EVENTS") || head.has("TARGET_INFO_"))) {
    return Sure::kCertain;
  }
  // The list of tables may begin after the part of the file that is seen here.
  return named || head.path.ends_with(".sqlite") ? Sure::kPossible : Sure::kNo;
}

// The numbers of a process and of a thread in globalPid and globalTid: 24 bits each.
int64_t pid_of(int64_t global) { return (global >> 24) & 0xffffff; }
int64_t tid_of(int64_t global) { return global & 0xffffff; }

// Types of copies by CUPTI's number of their kind. What is from or to an array is in device memory,
// and those after copies between peers are migrations of managed memory.
constexpr int64_t kPeerToPeer = 10;
constexpr std::string_view kCopyTypes[] = {"Copy",     kToDevice,  kToHost,    kToDevice,  kToHost,
                                           kInDevices, kInDevices, kInDevices, kInDevices, kInHost,
                                           kInDevices, kToDevice,  kToHost,    kInDevices};

// "cudaLaunchKernel_v7000" is cudaLaunchKernel of that version's interface; the _v2 of a function
// of the driver is part of its name.
std::string_view call_name(std::string_view name) {
  const size_t at = name.rfind("_v");
  if (at == std::string_view::npos || !name.starts_with("cuda")) return name;
  const std::string_view version = name.substr(at + 2);
  const bool is_version =
      version.size() >= 4 && version.find_first_not_of("0123456789") == std::string_view::npos;
  return is_version ? name.substr(0, at) : name;
}

enum NvtxEvent { kMark = 34, kPushPop = 59, kStartEnd = 60 };

class Reader {
 public:
  Reader(Database& database, Sink& sink, Tally& tally)
      : database_(database), sink_(sink), tally_(tally) {}

  Status read() {
    SONDE_TRY(strings());
    SONDE_TRY(processes());
    SONDE_TRY(devices());
    for (const auto& [table, category, domain] :
         {std::tuple{"CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_runtime", "cuda"},
          {"CUPTI_ACTIVITY_KIND_DRIVER", "cuda_driver", "cuda"},
          {"CUDNN_EVENTS", "cudnn", "cuda"},
          {"CUBLAS_EVENTS", "cublas", "cuda"},
          {"OSRT_API", "osrt", ""}}) {
      SONDE_TRY(calls(table, category, domain));
    }
    SONDE_TRY(markers());
    SONDE_TRY(kernels());
    SONDE_TRY(copies());
    SONDE_TRY(fills());
    SONDE_TRY(graphs());
    if (!any_) {
      return make_error(ErrorCode::kBadData,
                        "not an export of Nsight Systems: it has none of its tables",
                        database_.path(), "give what nsys export --type sqlite wrote");
    }
    return sink_.status();
  }

 private:
  Status strings();
  Status processes();
  Status devices();
  Status calls(const char* table, const char* category, const char* domain);
  Status markers();
  Status kernels();
  Status copies();
  Status fills();
  Status graphs();

  template <typename OnRow>
  Status scan(const char* table, const std::vector<const char*>& columns, OnRow&& on_row);
  template <typename Fill>
  Status work(const char* table, std::initializer_list<const char*> columns, const char* counted,
              Fill&& fill);
  bool times(const Row& row, const char* table, Op& op);
  void launch(const Row& row, Op& op, Launch& facts);
  std::string_view string(int64_t id) const { return value_or(strings_, id); }

  Database& database_;
  Sink& sink_;
  Tally& tally_;
  bool any_ = false;
  std::unordered_map<int64_t, std::string> strings_;
  std::map<std::pair<int64_t, int64_t>, int64_t> gpus_;  // by pid and CUDA's number
  CallTable calls_;
};

// Reads the columns of a table; one that this version does not have is NULL. No table: no rows.
template <typename OnRow>
Status Reader::scan(const char* table, const std::vector<const char*>& columns, OnRow&& on_row) {
  SONDE_ASSIGN(const bool there, database_.has_table(table));
  if (!there) return ok_status();
  any_ = true;
  std::string list;
  for (const char* column : columns) {
    SONDE_ASSIGN(const bool has, database_.has_column(table, column));
    list += (list.empty() ? "" : ", ") + (has ? store::quoted_name(column) : std::string("NULL"));
  }
  return store::scan(database_, list, store::quoted_name(table), {}, on_row);
}

Status Reader::strings() {
  return scan("StringIds", {"id", "value"},
              [&](const Row& row) { strings_[row.integer(0)] = valid_utf8(row.text(1)); });
}

Status Reader::processes() {
  std::string host;
  SONDE_TRY(scan("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [&](const Row& row) {
    if (row.text(0) == "Hostname") host = valid_utf8(row.text(1));
  }));
  SONDE_TRY(scan("PROCESSES", {"globalPid", "pid", "name"}, [&](const Row& row) {
    const std::string name = valid_utf8(row.text(2));
    ProcessFacts facts;
    facts.executable = name;
    facts.host = host;
    facts.clock = "nsys";
    sink_.describe(sink_.process(row.integer_or(1, pid_of(row.integer(0)))), facts);
  }));
  return scan("ThreadNames", {"globalTid", "nameId"}, [&](const Row& row) {
    const std::string_view name = string(row.integer(1));
    if (name.empty()) return;
    sink_.thread(sink_.process(pid_of(row.integer(0))), tid_of(row.integer(0)), name);
  });
}

// CUDA's numbers are a process's own (CUDA_VISIBLE_DEVICES); the GPUs have numbers of the machine.
Status Reader::devices() {
  SONDE_TRY(scan("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"}, [&](const Row& row) {
    gpus_[{row.integer_or(2, 0), row.integer(1)}] = row.integer(0);
  }));
  return scan("TARGET_INFO_GPU", {"id", "name", "busLocation", "totalMemory", "smCount"},
              [&](const Row& row) {
                const std::string name = valid_utf8(row.text(1));
                const std::string place = valid_utf8(row.text(2));
                Device device;
                device.gpu = row.integer(0);
                device.backend = "cuda";
                device.name = name;
                device.vendor = "NVIDIA";
                device.kind = "gpu";
                device.location = place;
                if (row.integer_or(3, 0) > 0) device.memory_bytes = row.integer(3);
                if (row.integer_or(4, 0) > 0) device.compute_units = row.integer(4);
                sink_.device(device);
              });
}

Status Reader::calls(const char* table, const char* category, const char* domain) {
  const Name kind = sink_.name(category), where = sink_.name(domain);
  return scan(table, {"start", "end", "globalTid", "nameId", "correlationId"}, [&](const Row& row) {
    Op when;
    if (!times(row, table, when)) return;
    const int64_t pid = pid_of(row.integer(2));
    const int64_t id =
        sink_.api({sink_.process(pid), tid_of(row.integer(2)), when.start_ns, when.end_ns,
                   sink_.name(call_name(string(row.integer(3)))), kind, where, ""});
    if (row.integer_or(4, 0) > 0) {
      calls_.add({pid, row.integer(4), when.start_ns, when.end_ns, id});
    }
    tally_.count("call");
  });
}

// Columns 0 and 1: start and end.
bool Reader::times(const Row& row, const char* table, Op& op) {
  op.start_ns = row.integer(0);
  op.end_ns = row.integer(1);
  if (!row.is_null(0) && !row.is_null(1) && op.end_ns >= op.start_ns) return true;
  tally_.skip("rows without a time, or that end before they start", database_.path() + ":" + table);
  return false;
}

Status Reader::markers() {
  const Name name = sink_.name("UserMarker"), kind = sink_.name("nvtx");
  return scan(
      "NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid", "jsonText"},
      [&](const Row& row) {
        const int64_t type = row.integer_or(2, kPushPop);
        if (type != kMark && type != kPushPop && type != kStartEnd) return;
        const bool open = type != kMark && row.is_null(1);
        if (row.is_null(0) || (!row.is_null(1) && row.integer(1) < row.integer(0))) {
          tally_.skip("rows without a time, or that end before they start",
                      database_.path() + ":NVTX_EVENTS");
          return;
        }
        const std::string text = valid_utf8(row.text(3));
        const int64_t id = sink_.api({sink_.process(pid_of(row.integer(5))), tid_of(row.integer(5)),
                                      row.integer(0), row.integer_or(1, row.integer(0)), name, kind,
                                      kind, text.empty() ? string(row.integer_or(4, -1)) : text});
        if (open) sink_.unfinished(id);
        tally_.count("marker");
      });
}

// Columns 2 to 5: globalPid, device, stream, correlation. Ends with the sink's launch.
void Reader::launch(const Row& row, Op& op, Launch& facts) {
  const int64_t pid = pid_of(row.integer(2)), device = row.integer_or(3, 0);
  const auto gpu = gpus_.find({pid, device});
  op.gpu = gpu == gpus_.end() ? value_or(gpus_, {0, device}, device) : gpu->second;
  op.queue = row.integer_or(4, 0);
  facts.op = sink_.op(op);
  facts.process = sink_.process(pid);
  facts.name = op.name;
  facts.stream = stream_unless_0(op.queue);
  facts.api = calls_.find(pid, row.integer_or(5, -1), op.start_ns);
  sink_.launch(facts);
}

// A table of the GPU's work. `columns` are those that it alone has, from 6 on; `fill` says what a
// row of it means.
template <typename Fill>
Status Reader::work(const char* table, std::initializer_list<const char*> columns,
                    const char* counted, Fill&& fill) {
  std::vector<const char*> all{"start",    "end",      "globalPid",
                               "deviceId", "streamId", "correlationId"};
  all.insert(all.end(), columns);
  return scan(table, all, [&](const Row& row) {
    Op op;
    if (!times(row, table, op)) return;
    Launch facts;
    fill(row, op, facts);
    launch(row, op, facts);
    tally_.count(counted);
  });
}

Status Reader::kernels() {
  const Name type = sink_.name("KernelExecution");
  return work("CUPTI_ACTIVITY_KIND_KERNEL",
              {"demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY",
               "blockZ", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread"},
              "kernel", [&](const Row& row, Op& op, Launch& facts) {
                const std::string_view whole = string(row.integer_or(6, -1));
                op.name = sink_.name(whole.empty() ? string(row.integer_or(7, -1)) : whole);
                op.type = type;
                facts.op_class = store::OpClass::kKernel;
                for (int i = 0; i < 3; ++i) {  // the file has blocks, the sink wants work items
                  const int64_t blocks = row.integer_or(8 + i, 0);
                  const int64_t threads = row.integer_or(11 + i, 0);
                  if (blocks <= 0 || threads <= 0 || blocks > INT64_MAX / threads) continue;
                  facts.grid[i] = blocks * threads;
                  facts.group[i] = threads;
                }
                const int64_t fixed = row.integer_or(14, -1), more = row.integer_or(15, 0);
                if (fixed >= 0 && more >= 0 && fixed <= INT64_MAX - more) {
                  facts.group_segment_bytes = fixed + more;
                }
                facts.private_segment_bytes = row.integer_or(16, -1);
              });
}

Status Reader::copies() {
  return work("CUPTI_ACTIVITY_KIND_MEMCPY", {"copyKind", "bytes"}, "copy",
              [&](const Row& row, Op& op, Launch& facts) {
                const int64_t kind = row.integer_or(6, 0);
                const bool is_known = kind >= 0 && kind < std::ssize(kCopyTypes);
                op.type = sink_.name(kCopyTypes[is_known ? kind : 0]);
                if (kind == kPeerToPeer) op.name = sink_.name("Memcpy PtoP");
                facts.op_class = store::OpClass::kCopy;
                facts.bytes = row.integer_or(7, -1);
              });
}

Status Reader::fills() {
  const Name type = sink_.name("FillBuffer");
  return work("CUPTI_ACTIVITY_KIND_MEMSET", {"bytes"}, "fill",
              [&](const Row& row, Op& op, Launch& facts) {
                op.type = type;
                facts.op_class = store::OpClass::kFill;
                facts.bytes = row.integer_or(6, -1);
              });
}

// Whole graphs (--cuda-graph-trace=graph), in place of their kernels.
Status Reader::graphs() {
  const Name type = sink_.name("Task");
  return work("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {"graphId"}, "graph",
              [&](const Row& row, Op& op, Launch& facts) {
                op.name = sink_.name(fmt::format("CUDA graph {}", row.integer(6)));
                op.type = type;
                facts.op_class = store::OpClass::kKernel;
              });
}

Status read(Source& source, Sink& sink, Tally& tally) {
  SONDE_ASSIGN(Database database, store::open_input(source.path()));
  return Reader(database, sink, tally).read();
}

Result<Clock> clock(Source& source) {
  SONDE_ASSIGN(Database database, store::open_input(source.path()));
  Clock clock{"nsys"};
  SONDE_ASSIGN(const bool there, database.has_table("TARGET_INFO_SESSION_START_TIME"));
  if (there) {
    SONDE_ASSIGN(const int64_t start,
                 database.integer("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME", -1));
    if (start > 0) clock.realtime_ns = start;
  }
  return clock;
}

}  // namespace

Importer nsys_importer() {
  return {"nsys", "the SQLite export of Nsight Systems", sniff, read, clock};
}

}  // namespace sonde::importers
