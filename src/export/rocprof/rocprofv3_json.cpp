// The JSON of rocprofv3 (docs/exports.md): an object for each process, with the words of kinds and
// operations before the records, which have their numbers. What the trace does not know is left
// out, or 0 where readers expect a number.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/numbered.h"
#include "export/events/events.h"
#include "export/exporter.h"
#include "export/output/json_text.h"
#include "export/output/sink.h"
#include "export/rocprof/words.h"

namespace sonde::exporting {

namespace {

// The words of one kind of record, numbered as they come.
struct Kind {
  std::string word;   // "HIP_RUNTIME_API"
  std::string table;  // "hip_api": its array in buffer_records
  std::vector<std::string> operations;
  std::unordered_map<std::string, int64_t> numbers;

  int64_t number(std::string_view operation) {
    return numbered(numbers, operations, std::string(operation));
  }
};

// What one process did, by index.
struct Part {
  int64_t pid = 0;
  std::string command;
  std::vector<uint32_t> kernels, copies, apis;
};

class Writer {
 public:
  Writer(const Events& events, Sink& sink) : events_(events), sink_(sink) {}

  Counts write() {
    share_out();
    number_words();
    sink_.append("{\"rocprofiler-sdk-tool\":[");
    for (size_t i = 0; i < parts_.size(); ++i) {
      sink_.append(i == 0 ? "\n{" : ",\n{");
      process(parts_[i]);
      sink_.append("}");
    }
    sink_.append("\n]}\n");
    counts_.skipped = events_.skipped + events_.samples.size();
    return counts_;
  }

 private:
  static constexpr int64_t kKernelKind = 1, kCopyKind = 2, kMarkerKind = 3;

  Part& part(int64_t pid);
  void share_out();
  void number_words();
  void process(const Part& part);
  void metadata(const Part& part);
  void agents();
  void agent(int64_t number, const Device* device);
  void symbols();
  void strings(const Part& part);
  void records(const Part& part);
  void kernel(const Op& op);
  void copy(const Op& op);
  void api(const Api& api);
  void head(int64_t kind, int64_t operation, int64_t tid, int64_t correlation, int64_t start_ns,
            int64_t end_ns);
  void axes(const char* key, const int64_t (&values)[3]);

  template <typename Rows, typename Write>
  void table(std::string_view name, const Rows& rows, Write&& write) {
    key(name);
    sink_.append("[");
    bool first = true;
    for (const auto& row : rows) {
      sink_.append(first ? "\n" : ",\n");
      first = false;
      write(row);
    }
    sink_.append("]");
    first_ = false;
  }
  void key(std::string_view name) {
    if (!first_) sink_.append(",");
    first_ = false;
    sink_.append("\"");
    sink_.append(name);
    sink_.append("\":");
  }
  void open(std::string_view name) {
    if (!name.empty()) key(name);
    sink_.append("{");
    first_ = true;
  }
  void close() {
    sink_.append("}");
    first_ = false;
  }
  void member(std::string_view name, int64_t value) {
    key(name);
    append_integer(sink_, value);
  }
  void member(std::string_view name, std::string_view value) {
    key(name);
    append_json_string(sink_, value, scratch_);
  }
  void handle(std::string_view name, int64_t value) {
    open(name);
    member("handle", value);
    close();
  }
  Kind& kind_of(const Api& api) {
    return kinds_[static_cast<size_t>(
        events_.is_mark(api) ? kMarkerKind : api_kinds_.at(std::string(events_.domain(api))))];
  }
  std::string_view direction(const Op& op) const {
    return copy_direction(events_.names.at(op.type)).word;
  }

  const Events& events_;
  Sink& sink_;
  std::vector<Part> parts_;
  std::unordered_map<int64_t, size_t> part_of_pid_;
  std::vector<Kind> kinds_;
  std::map<std::string, int64_t> api_kinds_;              // by domain
  std::vector<uint32_t> kernel_names_;                    // by kernel id - 1
  std::unordered_map<uint32_t, int64_t> kernel_of_name_;  // kernel id
  int64_t dispatches_ = 0;
  bool first_ = true;  // nothing stands before the next key
  std::string scratch_;
  Counts counts_;
};

Part& Writer::part(int64_t pid) {
  return parts_[numbered(part_of_pid_, parts_, pid, Part{.pid = pid})];
}

void Writer::share_out() {
  for (const Process& process : events_.processes) part(process.pid).command = process.command;
  for (uint32_t i = 0; i < events_.ops.size(); ++i) {
    const Op& op = events_.ops[i];
    const Api* const call = events_.launcher(op);
    int64_t pid = events_.queues[op.queue].pid;
    if (call != nullptr) pid = events_.threads[call->thread].pid;
    if (pid == kNoPid) pid = parts_.empty() ? 0 : parts_.front().pid;
    Part& owner = part(pid);
    const bool moves = store::moves_memory(events_.class_of(op));
    (moves ? owner.copies : owner.kernels).push_back(i);
    const auto next = static_cast<int64_t>(kernel_names_.size()) + 1;
    if (!moves && kernel_of_name_.try_emplace(op.name, next).second) {
      kernel_names_.push_back(op.name);
    }
  }
  for (uint32_t i = 0; i < events_.api_count(); ++i) {
    part(events_.threads[events_.apis[i].thread].pid).apis.push_back(i);
  }
  if (parts_.empty()) part(0);
}

void Writer::number_words() {
  kinds_ = {{"NONE", "", {}, {}},
            {"KERNEL_DISPATCH",
             "kernel_dispatch",
             {"KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_COMPLETE"},
             {}},
            {"MEMORY_COPY", "memory_copy", {}, {}},
            {std::string(kMarkerDomain), "marker_api", {}, {}}};
  for (const Op& op : events_.ops) {
    if (store::moves_memory(events_.class_of(op))) kinds_[kCopyKind].number(direction(op));
  }
  for (size_t i = 0; i < events_.api_count(); ++i) {
    const Api& api = events_.apis[i];
    const std::string domain(events_.domain(api));
    const auto next = static_cast<int64_t>(kinds_.size());
    if (!events_.is_mark(api) && api_kinds_.try_emplace(domain, next).second) {
      kinds_.push_back({domain_word(domain), file_word(domain) + "_api", {}, {}});
    }
    // The text of a marker stands beside the records.
    kind_of(api).number(events_.is_mark(api) ? "roctxMarkA" : events_.title(api));
  }
}

void Writer::process(const Part& part) {
  first_ = true;
  metadata(part);
  agents();
  table("counters", std::vector<int>(), [](int) {});
  strings(part);
  table("code_objects", std::vector<int>(), [](int) {});
  symbols();
  table("host_functions", std::vector<int>(), [](int) {});
  open("callback_records");
  table("counter_collection", std::vector<int>(), [](int) {});
  close();
  records(part);
  table("summary", std::vector<int>(), [](int) {});
}

void Writer::metadata(const Part& part) {
  int64_t first = 0, last = 0;
  const auto widen = [&](int64_t start_ns, int64_t end_ns) {
    first = first == 0 ? start_ns : std::min(first, start_ns);
    last = std::max(last, end_ns);
  };
  for (const auto* rows : {&part.kernels, &part.copies}) {
    for (const uint32_t i : *rows) widen(events_.ops[i].start_ns, events_.ops[i].end_ns);
  }
  for (const uint32_t i : part.apis) widen(events_.apis[i].start_ns, events_.apis[i].end_ns);
  open("metadata");
  member("pid", part.pid);
  member("init_time", first);
  member("fini_time", last);
  key("command");
  sink_.append("[");
  if (!part.command.empty()) append_json_string(sink_, part.command, scratch_);
  sink_.append("]");
  close();
}

void Writer::agents() {
  std::vector<const Device*> devices;
  if (!events_.devices.empty()) devices.push_back(nullptr);  // the host
  for (const Device& device : events_.devices) devices.push_back(&device);
  table("agents", devices, [&](const Device* device) {
    agent(device == nullptr ? kHostAgent : agent_of_gpu(device->gpu_id), device);
  });
}

void Writer::agent(int64_t number, const Device* device) {
  constexpr int64_t kCpu = 1, kGpu = 2;
  open("");
  handle("id", number);
  member("type", device == nullptr ? kCpu : kGpu);
  member("node_id", number);
  member("logical_node_id", number);
  member("logical_node_type_id", device == nullptr ? 0 : device->gpu_id);
  if (device != nullptr) {
    member("name", device->name);
    member("vendor_name", device->vendor);
    member("product_name", device->name);
    if (device->compute_units >= 0) member("cu_count", device->compute_units);
    if (device->memory_bytes >= 0) member("local_mem_size", device->memory_bytes);
  }
  close();
}

// The first one stands for no kernel, so that the others are found by their id.
void Writer::symbols() {
  std::vector<int64_t> ids(kernel_names_.size() + 1);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  table("kernel_symbols", ids, [&](int64_t id) {
    const std::string_view name =
        id == 0 ? std::string_view() : events_.names.at(kernel_names_[static_cast<size_t>(id) - 1]);
    open("");
    member("kernel_id", id);
    member("code_object_id", 0);
    for (const char* form : {"kernel_name", "formatted_kernel_name", "demangled_kernel_name",
                             "truncated_kernel_name"}) {
      member(form, name);
    }
    close();
  });
}

void Writer::strings(const Part& part) {
  open("strings");
  table("callback_records", std::vector<int>(), [](int) {});
  table("buffer_records", kinds_, [&](const Kind& kind) {
    open("");
    member("kind", kind.word);
    table("operations", kind.operations,
          [&](const std::string& word) { append_json_string(sink_, word, scratch_); });
    close();
  });
  std::vector<uint32_t> marks;
  for (const uint32_t i : part.apis) {
    if (events_.is_mark(events_.apis[i])) marks.push_back(i);
  }
  table("marker_api", marks, [&](uint32_t i) {
    open("");
    member("key", events_.apis[i].id);
    member("value", events_.title(events_.apis[i]));
    close();
  });
  close();
}

void Writer::records(const Part& part) {
  std::vector<std::vector<uint32_t>> of_kind(kinds_.size());
  for (const uint32_t i : part.apis) {
    const Kind& kind = kind_of(events_.apis[i]);
    of_kind[static_cast<size_t>(&kind - kinds_.data())].push_back(i);
  }
  open("buffer_records");
  table("kernel_dispatch", part.kernels, [&](uint32_t i) { kernel(events_.ops[i]); });
  table("memory_copy", part.copies, [&](uint32_t i) { copy(events_.ops[i]); });
  for (size_t kind = kMarkerKind; kind < kinds_.size(); ++kind) {
    table(kinds_[kind].table, of_kind[kind], [&](uint32_t i) { api(events_.apis[i]); });
  }
  close();
}

void Writer::head(int64_t kind, int64_t operation, int64_t tid, int64_t correlation,
                  int64_t start_ns, int64_t end_ns) {
  open("");
  member("kind", kind);
  member("operation", operation);
  member("thread_id", tid);
  open("correlation_id");
  member("internal", correlation);
  member("external", 0);
  close();
  member("start_timestamp", start_ns);
  member("end_timestamp", end_ns);
}

void Writer::axes(const char* name, const int64_t (&values)[3]) {
  const char* const kAxes[] = {"x", "y", "z"};
  open(name);
  for (int i = 0; i < 3; ++i) member(kAxes[i], std::max<int64_t>(0, values[i]));
  close();
}

void Writer::kernel(const Op& op) {
  const Api* const call = events_.launcher(op);
  const Queue& queue = events_.queues[op.queue];
  const Shape shape = op.shape == kNone ? Shape() : events_.shapes[op.shape];
  const int64_t items[] = {work_items(shape, 0), work_items(shape, 1), work_items(shape, 2)};
  head(kKernelKind, 1, call == nullptr ? 0 : events_.threads[call->thread].tid,
       call == nullptr ? 0 : call->id, op.start_ns, op.end_ns);
  open("dispatch_info");
  handle("agent_id", agent_of_gpu(queue.gpu_id));
  handle("queue_id", queue.queue_id);
  member("kernel_id", kernel_of_name_.at(op.name));
  member("dispatch_id", ++dispatches_);
  if (shape.private_segment_bytes >= 0) {
    member("private_segment_size", shape.private_segment_bytes);
  }
  if (shape.group_segment_bytes >= 0) member("group_segment_size", shape.group_segment_bytes);
  axes("workgroup_size", shape.group);
  axes("grid_size", items);
  close();
  handle("stream_id", 0);
  close();
  ++counts_.ops;
}

void Writer::copy(const Op& op) {
  const Api* const call = events_.launcher(op);
  const CopyDirection way = copy_direction(events_.names.at(op.type));
  const int64_t gpu = agent_of_gpu(events_.queues[op.queue].gpu_id);
  head(kCopyKind, kinds_[kCopyKind].number(way.word),
       call == nullptr ? 0 : events_.threads[call->thread].tid, call == nullptr ? 0 : call->id,
       op.start_ns, op.end_ns);
  handle("dst_agent_id", way.to_host ? kHostAgent : gpu);
  handle("src_agent_id", way.from_host ? kHostAgent : gpu);
  if (op.bytes >= 0) member("bytes", op.bytes);
  handle("stream_id", 0);
  close();
  ++counts_.ops;
}

void Writer::api(const Api& api) {
  Kind& kind = kind_of(api);
  head(&kind - kinds_.data(), kind.number(events_.is_mark(api) ? "roctxMarkA" : events_.title(api)),
       events_.threads[api.thread].tid, api.id, api.start_ns, api.end_ns);
  close();
  ++counts_.apis;
}

Result<Counts> write_rocprofv3_json(store::Reader& reader, const std::string& path,
                                    const Options& options) {
  SONDE_ASSIGN(const Events events, load_events(reader, options));
  const auto encoding = path.ends_with(".gz") ? Sink::Encoding::kGzip : Sink::Encoding::kPlain;
  SONDE_ASSIGN(Sink sink, Sink::create(path, encoding));
  const Counts counts = Writer(events, sink).write();
  SONDE_TRY(sink.finish());
  return counts;
}

}  // namespace

Exporter rocprofv3_json_exporter() {
  return {"rocprofv3-json",
          "the JSON of rocprofv3; gzip when the name ends in .gz",
          {".rocprofv3.json", ".rocprofv3.json.gz"},
          write_rocprofv3_json};
}

}  // namespace sonde::exporting
