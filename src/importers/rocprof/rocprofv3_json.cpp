// The JSON of rocprofv3 (docs/formats.md): one object for each process, its records as they came
// out of the SDK. Kinds and operations are numbers whose words the file holds itself, before the
// records. These are read in windows, so that a file may be larger than memory.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "base/value_or.h"
#include "importers/importer.h"
#include "importers/input/json_close.h"
#include "importers/input/json_windows.h"
#include "importers/rocprof/names.h"
#include "importers/sink/call_table.h"

namespace sonde::importers {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;

Sure sniff(const Head& head) {
  return head.has("\"rocprofiler-sdk-tool\"") ? Sure::kCertain : Sure::kNo;
}

// The value at `path` ("dispatch_info/grid_size/x"), or `fallback`.
int64_t number(element from, std::string_view path, int64_t fallback = -1) {
  element value = from;
  for (const std::string_view key : split(path, '/')) {
    if (value[key].get(value) != simdjson::SUCCESS) return fallback;
  }
  int64_t signed_value = 0;
  if (value.get(signed_value) == simdjson::SUCCESS) return signed_value;
  uint64_t unsigned_value = 0;
  if (value.get(unsigned_value) == simdjson::SUCCESS) return static_cast<int64_t>(unsigned_value);
  return fallback;
}

std::string_view text(element from, std::string_view key) {
  std::string_view value;
  return from[key].get(value) == simdjson::SUCCESS ? value : std::string_view();
}

// The elements of an array below `from`; none if there is no such array.
template <typename Each>
void each(element from, std::initializer_list<std::string_view> path, Each&& on_element) {
  element value = from;
  for (const std::string_view key : path) {
    if (value[key].get(value) != simdjson::SUCCESS) return;
  }
  array elements;
  if (value.get(elements) != simdjson::SUCCESS) return;
  for (const element entry : elements) on_element(entry);
}

// What of a process there may be much of: {tool: [{"kernel_symbols": [...], ...}]}, or {tool:
// {...}}.
bool are_records(std::span<const std::string> keys) {
  if (keys.size() < 2 || keys.front() != "rocprofiler-sdk-tool") return false;
  keys = keys.subspan(keys[1].empty() ? 2 : 1);
  if (keys.size() == 1) return keys[0] == "kernel_symbols";
  if (keys.size() != 2) return false;
  if (keys[0] == "strings") return keys[1] == "marker_api";
  return keys[0] == "buffer_records" || keys[0] == "callback_records";
}

// The last two keys of a path.
std::string_view end_of(std::string_view path) {
  const size_t last = path.rfind('/');
  const size_t before = last == 0 ? path.npos : path.rfind('/', last - 1);
  return path.substr(before == path.npos ? 0 : before + 1);
}

// A JSON text with its parser; what is read from it lives as long.
struct Document {
  simdjson::dom::parser parser;
  element root;

  Status parse(std::string_view json, const std::string& place, Tally& tally) {
    simdjson::error_code code = parser.parse(json.data(), json.size()).get(root);
    if (code == simdjson::UTF8_ERROR) {
      const std::string valid = valid_utf8(json);
      tally.repair("place or more that is not valid UTF-8", place);
      code = parser.parse(valid).get(root);
    }
    if (code == simdjson::SUCCESS) return ok_status();
    return make_error(ErrorCode::kBadData, simdjson::error_message(code), place,
                      "the file is not complete JSON");
  }
};

// The processes of a frame; a frame that goes on is closed first.
Status parse_frame(std::string frame, const std::string& path, Tally& tally, Document& document,
                   std::vector<element>& processes) {
  if (!close_json(frame)) {
    return make_error(ErrorCode::kBadData, "is not complete JSON", path,
                      "give the JSON that rocprofv3 wrote");
  }
  SONDE_TRY(document.parse(frame, path, tally));
  element tool;
  if (document.root["rocprofiler-sdk-tool"].get(tool) != simdjson::SUCCESS) {
    return make_error(ErrorCode::kBadData, "has no rocprofiler-sdk-tool", path,
                      "give the JSON that rocprofv3 wrote");
  }
  array list;
  if (tool.get(list) != simdjson::SUCCESS) {
    processes.push_back(tool);
  } else {
    for (const element process : list) processes.push_back(process);
  }
  return ok_status();
}

// Words of kinds and of their operations, by number.
struct Words {
  std::vector<std::string_view> kinds;
  std::vector<std::vector<std::string_view>> operations;

  std::string_view kind(int64_t number) const {
    const auto index = static_cast<size_t>(number);
    return number >= 0 && index < kinds.size() ? kinds[index] : std::string_view();
  }
  std::string_view operation(int64_t kind, int64_t number) const {
    if (kind < 0 || static_cast<size_t>(kind) >= operations.size()) return {};
    const auto& words = operations[static_cast<size_t>(kind)];
    return number >= 0 && static_cast<size_t>(number) < words.size()
               ? words[static_cast<size_t>(number)]
               : std::string_view();
  }
};

// One process: its windows in the order of the file, then finish().
class ProcessReader {
 public:
  // `number`: which of the processes of the file.
  ProcessReader(size_t number, const std::string& path, Sink& sink, Tally& tally)
      : number_(number), path_(path), sink_(sink), tally_(tally) {}

  // `frame`: what the file has said until now.
  Status take(JsonWindow window, const std::string& frame);
  Status finish(const std::string& frame);

 private:
  Status define(const std::string& frame);
  void begin();
  Status read(const JsonWindow& window);
  void record(std::string_view table, element one);
  void describe(element metadata);
  void words();
  void agents();
  bool times(element record, int64_t& start_ns, int64_t& end_ns);
  void api(std::string_view table, element record);
  void kernel(element record);
  void copy(element record);
  void memory(element record);
  void counters(element record);
  void start(element record, const Launch& launch, int64_t start_ns) {
    started_.push_back({launch, number(record, "correlation_id/internal"), start_ns});
  }
  int64_t gpu(int64_t agent) const { return value_or(gpus_, agent, -1); }

  // Kernels come before the calls that launched them.
  struct Started {
    Launch launch;
    int64_t correlation, start_ns;
  };
  struct Value {
    int64_t dispatch;
    Name counter;
    double amount;
  };

  const size_t number_;
  const std::string& path_;
  Sink& sink_;
  Tally& tally_;
  std::unique_ptr<Document> definitions_;
  element root_;                  // of the definitions
  std::vector<JsonWindow> held_;  // from before the definitions
  std::vector<Started> started_;
  std::vector<Value> values_;
  int64_t process_ = 0;
  Words words_;
  std::unordered_map<int64_t, int64_t> gpus_;  // GPU number by agent handle
  struct Kernel {
    std::string text;
    Name name = 0;
    KernelCode code;  // its registers
  };
  std::unordered_map<int64_t, Kernel> kernels_;        // by kernel id
  std::unordered_map<int64_t, std::string> messages_;  // of markers, by correlation id
  std::unordered_map<int64_t, Name> counter_names_;
  std::unordered_map<int64_t, int64_t> op_of_dispatch_;
  CallTable calls_;
};

// Reads what the frame says of the process; all of it once the words of its records are there.
Status ProcessReader::define(const std::string& frame) {
  auto document = std::make_unique<Document>();
  std::vector<element> processes;
  SONDE_TRY(parse_frame(frame, path_, tally_, *document, processes));
  if (number_ >= processes.size()) return ok_status();
  definitions_ = std::move(document);
  root_ = processes[number_];
  return ok_status();
}

Status ProcessReader::take(JsonWindow window, const std::string& frame) {
  const std::string_view table = end_of(window.path);
  const bool is_definition = table.ends_with("/kernel_symbols") || table == "strings/marker_api";
  if (is_definition || process_ != 0) return read(window);
  element strings;
  const bool is_first = held_.empty();
  if (is_first && define(frame).ok() && definitions_ != nullptr &&
      root_["strings"].get(strings) == simdjson::SUCCESS) {
    begin();
    return read(window);
  }
  held_.push_back(std::move(window));  // this file has its words after its records
  return ok_status();
}

// The process, what its records refer to, and what came before that.
void ProcessReader::begin() {
  element metadata;
  if (root_["metadata"].get(metadata) == simdjson::SUCCESS) describe(metadata);
  if (process_ == 0) process_ = sink_.process(0);
  words();
  agents();
}

Status ProcessReader::finish(const std::string& frame) {
  if (process_ == 0) {
    SONDE_TRY(define(frame));
    if (definitions_ == nullptr) return ok_status();
    begin();
  }
  for (const JsonWindow& window : held_) SONDE_TRY(read(window));
  for (Started& one : started_) {
    one.launch.api = calls_.find(process_, one.correlation, one.start_ns);
    sink_.launch(one.launch);
  }
  for (const Value& one : values_) {
    const auto op = op_of_dispatch_.find(one.dispatch);
    if (op == op_of_dispatch_.end() || one.counter == 0) {
      tally_.skip("counter values of an unknown dispatch or counter", path_);
      continue;
    }
    sink_.op_counter(op->second, one.counter, one.amount);
    tally_.count("counter_collection");
  }
  return sink_.status();
}

Status ProcessReader::read(const JsonWindow& window) {
  Document document;
  SONDE_TRY(
      document.parse(window.text(), fmt::format("{}, byte {}", path_, window.file_offset), tally_));
  const std::string_view table = end_of(window.path);
  each(document.root, {}, [&](element one) { record(table, one); });
  return sink_.status();
}

void ProcessReader::record(std::string_view table, element one) {
  if (table.ends_with("/kernel_symbols")) {
    Kernel& kernel = kernels_[number(one, "kernel_id")];
    kernel.text = valid_utf8(kernel_name(text(one, "kernel_name")));
    kernel.name = sink_.name(kernel.text);
    kernel.code.vgprs = number(one, "arch_vgpr_count");
    kernel.code.agprs = number(one, "accum_vgpr_count");
    kernel.code.sgprs = number(one, "sgpr_count");
    return;
  }
  if (table == "strings/marker_api") {
    messages_[number(one, "key")] = text(one, "value");
    return;
  }
  if (table == "callback_records/counter_collection") return counters(one);
  const size_t slash = table.find('/');
  if (table.substr(0, slash) != "buffer_records") return;
  table.remove_prefix(slash + 1);
  if (table.ends_with("_api")) return api(table, one);
  if (table == "kernel_dispatch") return kernel(one);
  if (table == "memory_copy") return copy(one);
  if (table == "memory_allocation" || table == "scratch_memory") return memory(one);
  if (table.starts_with("pc_sample_")) tally_.skip("program counter samples", path_);
}

void ProcessReader::describe(element metadata) {
  process_ = sink_.process(number(metadata, "pid", 0));
  ProcessFacts facts;
  std::string command;
  each(metadata, {"command"}, [&](element word) {
    std::string_view part;
    if (word.get(part) != simdjson::SUCCESS) return;
    if (!command.empty()) command += ' ';
    command += part;
  });
  facts.command = command;
  facts.clock = "boottime";
  element node;
  if (metadata["node"].get(node) == simdjson::SUCCESS) facts.host = text(node, "hostname");
  sink_.describe(process_, facts);
}

void ProcessReader::words() {
  each(root_, {"strings", "buffer_records"}, [&](element kind) {
    words_.kinds.push_back(text(kind, "kind"));
    words_.operations.emplace_back();
    each(kind, {"operations"}, [&](element operation) {
      std::string_view word;
      if (operation.get(word) == simdjson::SUCCESS) words_.operations.back().push_back(word);
    });
  });
  each(root_, {"counters"}, [&](element counter) {
    counter_names_[number(counter, "id/handle")] = sink_.name(text(counter, "name"));
  });
}

void ProcessReader::agents() {
  constexpr int64_t kGpu = 2;
  each(root_, {"agents"}, [&](element agent) {
    if (number(agent, "type") != kGpu) return;
    const int64_t ordinal =
        number(agent, "logical_node_type_id", static_cast<int64_t>(gpus_.size()));
    gpus_[number(agent, "id/handle")] = ordinal;
    Device device;
    device.process = process_;
    device.gpu = ordinal;
    device.backend = "hip";
    device.name = text(agent, "product_name");
    device.vendor = text(agent, "vendor_name");
    device.kind = "gpu";
    if (const int64_t units = number(agent, "cu_count"); units > 0) device.compute_units = units;
    if (const int64_t mhz = number(agent, "max_engine_clk_fcompute"); mhz > 0) {
      device.clock_mhz = mhz;
    }
    sink_.device(device);
  });
}

bool ProcessReader::times(element record, int64_t& start_ns, int64_t& end_ns) {
  start_ns = number(record, "start_timestamp");
  end_ns = number(record, "end_timestamp");
  if (start_ns > 0 && end_ns >= start_ns) return true;
  tally_.skip("records without a time, or that end before they start", path_);
  return false;
}

void ProcessReader::api(std::string_view table, element record) {
  Api row;
  if (!times(record, row.start_ns, row.end_ns)) return;
  const int64_t kind = number(record, "kind");
  const int64_t correlation = number(record, "correlation_id/internal");
  const std::string_view kind_word = words_.kind(kind);
  row.process = process_;
  row.tid = number(record, "thread_id", 0);
  row.category = sink_.name(kind_word);
  row.domain = sink_.name(domain_of_kind(kind_word));
  std::string message;
  if (table == "marker_api") {
    const std::string_view operation = words_.operation(kind, number(record, "operation"));
    message = valid_utf8(value_or(messages_, correlation, operation));
    row.name = sink_.name("UserMarker");
    row.args = message;
  } else {
    row.name = sink_.name(words_.operation(kind, number(record, "operation")));
  }
  const int64_t id = sink_.api(row);
  if (correlation > 0) calls_.add({process_, correlation, row.start_ns, row.end_ns, id});
  tally_.count(table);
}

void ProcessReader::kernel(element record) {
  Op op;
  if (!times(record, op.start_ns, op.end_ns)) return;
  op.gpu = gpu(number(record, "dispatch_info/agent_id/handle"));
  op.queue = number(record, "dispatch_info/queue_id/handle", 0);
  const auto kernel = kernels_.find(number(record, "dispatch_info/kernel_id"));
  if (kernel != kernels_.end()) {
    op.name = kernel->second.name;
    const KernelCode& code = kernel->second.code;
    sink_.kernel_code({process_, op.gpu, kernel->second.text, code.vgprs, code.agprs, code.sgprs});
  }
  op.type = sink_.name("KernelExecution");
  Launch launch;
  launch.op = sink_.op(op);
  launch.process = process_;
  launch.name = op.name;
  launch.op_class = store::OpClass::kKernel;
  launch.stream = stream_unless_0(number(record, "stream_id/handle", 0));
  const char* const axes[3] = {"x", "y", "z"};
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = number(record, std::string("dispatch_info/grid_size/") + axes[i]);
    launch.group[i] = number(record, std::string("dispatch_info/workgroup_size/") + axes[i]);
  }
  launch.group_segment_bytes = number(record, "dispatch_info/group_segment_size");
  launch.private_segment_bytes = number(record, "dispatch_info/private_segment_size");
  start(record, launch, op.start_ns);
  op_of_dispatch_[number(record, "dispatch_info/dispatch_id")] = launch.op;
  tally_.count("kernel_dispatch");
}

void ProcessReader::copy(element record) {
  Op op;
  if (!times(record, op.start_ns, op.end_ns)) return;
  const std::string_view direction =
      words_.operation(number(record, "kind"), number(record, "operation"));
  const int64_t to = gpu(number(record, "dst_agent_id/handle"));
  op.gpu = to >= 0 ? to : gpu(number(record, "src_agent_id/handle"));
  op.queue = -1;  // a copy engine, which the record does not name
  op.type = sink_.name(memory_op_type(direction));
  Launch launch;
  launch.op = sink_.op(op);
  launch.process = process_;
  launch.op_class = store::OpClass::kCopy;
  launch.bytes = number(record, "bytes");
  launch.stream = stream_unless_0(number(record, "stream_id/handle", 0));
  start(record, launch, op.start_ns);
  tally_.count("memory_copy");
}

// Allocations and scratch: calls whose arguments are what they gave.
void ProcessReader::memory(element record) {
  Api row;
  if (!times(record, row.start_ns, row.end_ns)) return;
  const int64_t kind = number(record, "kind");
  row.process = process_;
  row.tid = number(record, "thread_id", 0);
  row.category = sink_.name(words_.kind(kind));
  row.domain = sink_.name("memory");
  row.name = sink_.name(words_.operation(kind, number(record, "operation")));
  const int64_t bytes = number(record, "allocation_size");
  const std::string args =
      fmt::format("agent = {} | address = {} | size = {}", gpu(number(record, "agent_id/handle")),
                  text(record, "address"), bytes);
  row.args = args;
  sink_.api(row);
  tally_.count("memory_allocation");
}

void ProcessReader::counters(element record) {
  const int64_t dispatch = number(record, "dispatch_data/dispatch_info/dispatch_id");
  each(record, {"records"}, [&](element value) {
    Value one{dispatch, value_or(counter_names_, number(value, "counter_id/handle")), 0};
    if (value["value"].get(one.amount) != simdjson::SUCCESS) one.counter = 0;
    values_.push_back(one);
  });
}

Status read(Source& source, Sink& sink, Tally& tally) {
  JsonWindows windows(source, are_records);
  const std::string& path = source.path();
  std::unique_ptr<ProcessReader> process;
  size_t processes = 0;  // that have been begun
  const auto begin_until = [&](size_t count) -> Status {
    while (processes < count) {
      if (process != nullptr) SONDE_TRY(process->finish(windows.frame()));
      process = std::make_unique<ProcessReader>(processes++, path, sink, tally);
    }
    return ok_status();
  };
  for (;;) {
    SONDE_ASSIGN(JsonWindow window, windows.next());
    if (window.size == 0) break;
    SONDE_TRY(begin_until(std::max<uint64_t>(1, window.part)));
    SONDE_TRY(process->take(std::move(window), windows.frame()));
  }
  if (!windows.complete()) tally.skip("records cut off by the end of the file", path);
  Document document;
  std::vector<element> all;
  Tally said_already;
  SONDE_TRY(parse_frame(windows.frame(), path, said_already, document, all));
  SONDE_TRY(begin_until(all.size()));  // some may have no record
  return process == nullptr ? ok_status() : process->finish(windows.frame());
}

Result<Clock> clock(Source&) { return Clock{"boottime"}; }

}  // namespace

Importer rocprofv3_json_importer() {
  return {"rocprofv3-json", "the JSON file of rocprofv3", sniff, read, clock};
}

}  // namespace sonde::importers
