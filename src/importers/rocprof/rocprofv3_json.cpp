// The JSON of rocprofv3 (docs/formats.md): one object for each process, its records as they came
// out of the SDK. Kinds and operations are numbers whose words the file holds itself.
#include <fmt/format.h>
#include <simdjson.h>

#include <string>
#include <vector>

#include "base/strings.h"
#include "importers/importer.h"
#include "importers/input/json_close.h"
#include "importers/rocprof/names.h"
#include "importers/sink/call_table.h"

namespace sonde::importers {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;

Sure sniff(const Head& head) {
  return head.bytes.find("\"rocprofiler-sdk-tool\"") != std::string_view::npos ? Sure::kCertain
                                                                               : Sure::kNo;
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

class ProcessReader {
 public:
  ProcessReader(element root, const std::string& path, Sink& sink, Tally& tally)
      : root_(root), path_(path), sink_(sink), tally_(tally) {}

  void read() {
    element metadata;
    if (root_["metadata"].get(metadata) == simdjson::SUCCESS) describe(metadata);
    if (process_ == 0) process_ = sink_.process(0);
    words();
    agents();
    each(root_, {"kernel_symbols"}, [&](element symbol) {
      kernels_[number(symbol, "kernel_id")] = {
          sink_.name(valid_utf8(kernel_name(text(symbol, "kernel_name"))))};
    });
    each(root_, {"strings", "marker_api"},
         [&](element marker) { messages_[number(marker, "key")] = text(marker, "value"); });
    for (const std::string_view kind :
         {"hip_api", "hsa_api", "marker_api", "rccl_api", "rocdecode_api", "rocjpeg_api"}) {
      each(root_, {"buffer_records", kind}, [&](element record) { api(kind, record); });
    }
    each(root_, {"buffer_records", "kernel_dispatch"}, [&](element r) { kernel(r); });
    each(root_, {"buffer_records", "memory_copy"}, [&](element r) { copy(r); });
    each(root_, {"buffer_records", "memory_allocation"}, [&](element r) { memory(r); });
    each(root_, {"buffer_records", "scratch_memory"}, [&](element r) { memory(r); });
    each(root_, {"callback_records", "counter_collection"}, [&](element r) { counters(r); });
    for (const std::string_view kind : {"pc_sample_host_trap", "pc_sample_stochastic"}) {
      each(root_, {"buffer_records", kind},
           [&](element) { tally_.skip("program counter samples", path_); });
    }
  }

 private:
  void describe(element metadata);
  void words();
  void agents();
  bool times(element record, int64_t& start_ns, int64_t& end_ns);
  void api(std::string_view table, element record);
  void kernel(element record);
  void copy(element record);
  void memory(element record);
  void counters(element record);
  int64_t call_of(element record, int64_t start_ns) const {
    const int64_t call = calls_.find(process_, number(record, "correlation_id/internal"), start_ns);
    return call == CallTable::kNoCall ? 0 : call;
  }
  int64_t gpu(int64_t agent) const {
    const auto at = gpus_.find(agent);
    return at == gpus_.end() ? -1 : at->second;
  }

  const element root_;
  const std::string& path_;
  Sink& sink_;
  Tally& tally_;
  int64_t process_ = 0;
  Words words_;
  std::unordered_map<int64_t, int64_t> gpus_;               // GPU number by agent handle
  std::unordered_map<int64_t, Name> kernels_;               // by kernel id
  std::unordered_map<int64_t, std::string_view> messages_;  // of markers, by correlation id
  std::unordered_map<int64_t, Name> counter_names_;
  std::unordered_map<int64_t, int64_t> op_of_dispatch_;
  CallTable calls_;
};

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
    const auto at = messages_.find(correlation);
    message = valid_utf8(at == messages_.end() ? words_.operation(kind, number(record, "operation"))
                                               : at->second);
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
  if (kernel != kernels_.end()) op.name = kernel->second;
  op.type = sink_.name("KernelExecution");
  Launch launch;
  launch.op = sink_.op(op);
  launch.api = call_of(record, op.start_ns);
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
  sink_.launch(launch);
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
  op.type = sink_.name(copy_type(direction));
  Launch launch;
  launch.op = sink_.op(op);
  launch.api = call_of(record, op.start_ns);
  launch.process = process_;
  launch.op_class = store::OpClass::kCopy;
  launch.bytes = number(record, "bytes");
  launch.stream = stream_unless_0(number(record, "stream_id/handle", 0));
  sink_.launch(launch);
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
  const auto op = op_of_dispatch_.find(number(record, "dispatch_data/dispatch_info/dispatch_id"));
  each(record, {"records"}, [&](element value) {
    const auto name = counter_names_.find(number(value, "counter_id/handle"));
    double amount = 0;
    if (op == op_of_dispatch_.end() || name == counter_names_.end() ||
        value["value"].get(amount) != simdjson::SUCCESS) {
      tally_.skip("counter values of an unknown dispatch or counter", path_);
      return;
    }
    sink_.op_counter(op->second, name->second, amount);
    tally_.count("counter_collection");
  });
}

Status read(Source& source, Sink& sink, Tally& tally) {
  constexpr size_t kMostBytes = (size_t{4} << 30) - 1;  // simdjson's documents end there
  SONDE_ASSIGN(std::string text, source.read_all(kMostBytes));
  simdjson::dom::parser parser;
  element document, processes;
  simdjson::error_code code = parser.parse(text).get(document);
  if (code == simdjson::UTF8_ERROR) {
    text = valid_utf8(text);
    tally.repair("place or more that is not valid UTF-8", source.path());
    code = parser.parse(text).get(document);
  }
  if (code != simdjson::SUCCESS && close_json(text)) {
    tally.skip("records cut off by the end of the file", source.path());
    code = parser.parse(text).get(document);
  }
  if (code != simdjson::SUCCESS) {
    return make_error(ErrorCode::kBadData, simdjson::error_message(code), source.path(),
                      "the file is not complete JSON");
  }
  if (document["rocprofiler-sdk-tool"].get(processes) != simdjson::SUCCESS) {
    return make_error(ErrorCode::kBadData, "has no rocprofiler-sdk-tool", source.path(),
                      "give the JSON that rocprofv3 wrote");
  }
  array list;
  if (processes.get(list) != simdjson::SUCCESS) {
    ProcessReader(processes, source.path(), sink, tally).read();
    return sink.status();
  }
  for (const element process : list) {
    ProcessReader(process, source.path(), sink, tally).read();
    SONDE_TRY(sink.status());
  }
  return ok_status();
}

Result<Clock> clock(Source&) { return Clock{"boottime"}; }

}  // namespace

const Importer& rocprofv3_json_importer() {
  static const Importer kImporter{"rocprofv3-json", "the JSON file of rocprofv3", sniff, read,
                                  clock};
  return kImporter;
}

}  // namespace sonde::importers
