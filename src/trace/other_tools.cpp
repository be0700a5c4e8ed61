#include "trace/other_tools.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "importers/import.h"
#include "store/string_table.h"
#include "trace/call_texts.h"
#include "trace/columns.h"
#include "trace/named_window.h"
#include "trace/sensors.h"

namespace sonde::trace {

namespace {

using importers::Name;

// Fills the columns of a Trace. Names are indices into Trace::names; 0 is "".
class ColumnSink : public importers::Sink {
 public:
  ColumnSink(const Request& request, bool needs_span, Trace& trace, Raw& raw)
      : request_(request),
        needs_span_(needs_span),
        trace_(trace),
        raw_(raw),
        shapes_(trace.shapes),
        queues_(trace.queues),
        threads_(trace.threads),
        call_texts_(request, trace),
        sensors_(request) {
    trace_.names.emplace_back();
    texts_.insert("", kEmpty);
  }

  importers::Wants wants() const override {
    const bool details = request_.op_bytes || request_.op_shapes || request_.links;
    return {.ops = request_.ops || needs_first_op(request_) || needs_span_,
            .op_details = details,
            .apis = request_.apis || needs_span_,
            .args = request_.args_of != 0,
            .facts = request_.nesting,
            .devices = request_.devices,
            .sensors = sensors_.wants_any(),
            .others = false};
  }

  Name name(std::string_view text) override {
    if (const int64_t known = texts_.find(text); known != 0) return known - kEmpty;
    const auto index = static_cast<Name>(trace_.names.size());
    trace_.names.emplace_back(text);
    texts_.insert(text, index + kEmpty);
    return index;
  }

  int64_t process(int64_t pid) override {
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].about.pid == pid) return static_cast<int64_t>(i) + 1;
    }
    processes_.push_back({{pid, {}}, kNone});
    return static_cast<int64_t>(processes_.size());
  }

  void describe(int64_t process, const importers::ProcessFacts& facts) override {
    if (!facts.rank) return;
    Known& known = processes_[static_cast<size_t>(process) - 1];
    known.about.rank = facts.rank;
    if (known.index != kNone) trace_.processes[static_cast<size_t>(known.index)].rank = facts.rank;
  }

  void sample(const importers::Sample& row) override {
    sensors_.add({row.device_type, row.type, row.device, row.start_ns, row.end_ns,
                  std::strtod(std::string(row.value).c_str(), nullptr)});
  }

  int64_t api(const importers::Api& row) override {
    extend_span(row.start_ns, row.end_ns);
    extend(raw_.extent, {row.start_ns, row.end_ns});
    if (!request_.apis) return ++calls_;
    Apis& apis = trace_.apis;
    apis.start_ns.push_back(row.start_ns);
    apis.end_ns.push_back(row.end_ns);
    apis.name.push_back(static_cast<NameId>(row.name));
    apis.domain.push_back(static_cast<NameId>(row.domain));
    if (!request_.nesting) return ++calls_;
    raw_.api_category.push_back(static_cast<NameId>(row.category));
    apis.thread.push_back(threads_.index({index_of_process(row.process), row.tid}));
    apis.label.push_back(static_cast<NameId>(row.name));
    if (request_.args_of != 0) apis.args.push_back(0);
    if (row.args.empty()) return ++calls_;
    const size_t call = apis.size() - 1;
    const CallTexts::Use use = call_texts_.use_of(call, static_cast<NameId>(row.category));
    call_texts_.keep(call, use, row.args,
                     [&](std::string_view text) { return static_cast<NameId>(name(text)); });
    return ++calls_;
  }

  int64_t op(const importers::Op& row) override {
    extend_span(row.start_ns, row.end_ns);
    extend(raw_.extent, {row.start_ns, row.end_ns});
    if (request_.gpu) raw_.gpus.insert(row.gpu);
    const bool kept = request_.ops && wants_gpu(request_, row.gpu);
    row_of_op_.push_back(kept ? static_cast<Row>(trace_.ops.size()) : kNone);
    const auto number = static_cast<int64_t>(row_of_op_.size());
    if (!kept) return number;
    Ops& ops = trace_.ops;
    const int64_t gpu = row.gpu;
    ops.start_ns.push_back(row.start_ns);
    ops.end_ns.push_back(row.end_ns);
    ops.gpu.push_back(gpu);
    ops.queue.push_back(queues_.index({gpu, row.queue}));
    ops.name.push_back(static_cast<NameId>(row.name));
    ops.type.push_back(static_cast<NameId>(row.type));
    if (request_.op_ids) ops.id.push_back(number);
    if (request_.op_bytes) ops.bytes.push_back(-1);
    if (request_.op_shapes) ops.shape.push_back(0);
    if (request_.links) ops.api.push_back(kNone);
    return number;
  }

  void op_counter(int64_t op, Name name, double value) override {
    if (!request_.op_counters || row_of(op) == kNone || !std::isfinite(value)) return;
    trace_.op_counters.op.push_back(row_of(op));
    trace_.op_counters.name.push_back(static_cast<NameId>(name));
    trace_.op_counters.value.push_back(value);
  }

  void device(const importers::Device& row) override {
    if (!request_.devices) return;
    describe_device(trace_.devices, row.gpu, row.name, row.compute_units.value_or(0));
  }

  void launch(const importers::Launch& launch) override {
    if (row_of(launch.op) == kNone) return;
    const auto row = static_cast<size_t>(row_of(launch.op));
    if (request_.op_bytes && launch.bytes >= 0) trace_.ops.bytes[row] = launch.bytes;
    if (request_.links && launch.api != 0) trace_.ops.api[row] = static_cast<Row>(launch.api) - 1;
    if (request_.streams && launch.api != 0 && launch.stream) {
      trace_.apis.stream.resize(trace_.apis.size(), kNoStream);
      trace_.apis.blocks.resize(trace_.apis.size(), 0);
      trace_.apis.stream[static_cast<size_t>(launch.api) - 1] =
          static_cast<int64_t>(*launch.stream);
    }
    if (!request_.op_shapes || launch.grid[0] < 0) return;
    LaunchShape shape;
    for (int i = 0; i < 3; ++i) {
      shape.grid[i] = std::max<int64_t>(launch.grid[i], 0);
      shape.group[i] = std::max<int64_t>(launch.group[i], 0);
    }
    trace_.ops.shape[row] = shapes_.index(shape);
  }

  const std::optional<Interval>& span() const { return span_; }
  SensorRows& sensors() { return sensors_; }

 private:
  struct Known {
    Process about;
    int32_t index = kNone;  // of Trace::processes; kNone: it has made no calls
  };

  static constexpr int64_t kEmpty = 1;  // the table's id of index 0

  Row row_of(int64_t op) const { return op <= 0 ? kNone : row_of_op_[static_cast<size_t>(op) - 1]; }

  void extend_span(int64_t start_ns, int64_t end_ns) {
    if (needs_span_) extend(span_, {start_ns, end_ns});
  }

  int32_t index_of_process(int64_t process) {
    Known& known = processes_[static_cast<size_t>(process) - 1];
    if (known.index == kNone) {
      known.index = static_cast<int32_t>(trace_.processes.size());
      trace_.processes.push_back(known.about);
    }
    return known.index;
  }

  const Request& request_;
  bool needs_span_;
  Trace& trace_;
  Raw& raw_;
  ShapeNumbering shapes_;
  Numbering<Queue> queues_;
  Numbering<Thread> threads_;
  CallTexts call_texts_;
  SensorRows sensors_;
  std::vector<Known> processes_;  // by handle - 1
  store::StringTable texts_;
  std::optional<Interval> span_;
  int64_t calls_ = 0;
  std::vector<Row> row_of_op_;  // kNone: not wanted
};

// Passes everything to two sinks, so that a file is read once for both. Both get it in the same
// order, so processes, calls and operations have the same numbers in both. Names have not: which
// texts of calls become names depends on what a sink keeps of them.
class BothSinks : public importers::Sink {
 public:
  BothSinks(ColumnSink& first, ColumnSink& second) : first_(first), second_(second) {}

  importers::Wants wants() const override {
    const importers::Wants a = first_.wants(), b = second_.wants();
    return {.ops = a.ops || b.ops,
            .op_details = a.op_details || b.op_details,
            .apis = a.apis || b.apis,
            .args = a.args || b.args,
            .facts = a.facts || b.facts,
            .devices = a.devices || b.devices,
            .sensors = a.sensors || b.sensors,
            .others = a.others || b.others};
  }
  Name name(std::string_view text) override {
    const Name name = first_.name(text);
    const auto index = static_cast<size_t>(name);
    if (index >= of_second_.size()) of_second_.resize(index + 1);
    of_second_[index] = second_.name(text);
    return name;
  }
  int64_t process(int64_t pid) override { return first_.process(pid), second_.process(pid); }
  int64_t api(const importers::Api& row) override {
    importers::Api same = row;
    same.name = of_second(row.name);
    same.category = of_second(row.category);
    same.domain = of_second(row.domain);
    return first_.api(row), second_.api(same);
  }
  int64_t op(const importers::Op& row) override {
    importers::Op same = row;
    same.name = of_second(row.name);
    same.type = of_second(row.type);
    return first_.op(row), second_.op(same);
  }
  void describe(int64_t process, const importers::ProcessFacts& facts) override {
    first_.describe(process, facts);
    second_.describe(process, facts);
  }
  void op_counter(int64_t op, Name name, double value) override {
    first_.op_counter(op, name, value);
    second_.op_counter(op, of_second(name), value);
  }
  void device(const importers::Device& row) override {
    first_.device(row);
    second_.device(row);
  }
  void launch(const importers::Launch& launch) override {
    first_.launch(launch);
    second_.launch(launch);
  }
  void sample(const importers::Sample& row) override {
    first_.sample(row);
    second_.sample(row);
  }

 private:
  Name of_second(Name name) const { return name == 0 ? 0 : of_second_[static_cast<size_t>(name)]; }

  ColumnSink& first_;
  ColumnSink& second_;
  std::vector<Name> of_second_;  // by the name's number in the first
};

}  // namespace

// A Trace in the making.
struct Columns {
  Columns(const Request& request, bool needs_span)
      : wanted(completed(request)), sink(wanted, needs_span || request.program, trace, raw) {}
  const Request wanted;
  Trace trace;
  Raw raw;
  ColumnSink sink;
};

namespace {

// The part of the file that --window names, from the columns that it asked for.
Result<Interval> part_of(const NamedWindow& named, Columns& columns) {
  arrange(columns.wanted, {}, columns.raw, columns.trace);
  return named.find(columns.trace);
}

Trace cut_to(const Window& window, const std::optional<Interval>& span, Columns& columns) {
  columns.trace.window = window.extent;
  columns.sink.sensors().finish(window.select, columns.trace);
  if (columns.wanted.program && !columns.wanted.rank) columns.trace.program = span;
  if (!columns.trace.apis.stream.empty()) {  // calls may come after the last launch
    columns.trace.apis.stream.resize(columns.trace.apis.size(), kNoStream);
    columns.trace.apis.blocks.resize(columns.trace.apis.size(), 0);
  }
  arrange(columns.wanted, window, columns.raw, columns.trace);
  return std::move(columns.trace);
}

}  // namespace

OpenedFile::OpenedFile(const Request& request) : request_(&request) {}
OpenedFile::OpenedFile(OpenedFile&&) noexcept = default;
OpenedFile::~OpenedFile() = default;

Status OpenedFile::read(importers::Found& found, const std::string& path,
                        const WindowText& window) {
  columns_ = std::make_unique<Columns>(*request_, window.given());
  columns_->trace.path = path;
  importers::Tally tally;
  if (window.named) {  // what it names is known when the file has been read
    SONDE_ASSIGN(const NamedWindow named, NamedWindow::parse(*window.named));
    Columns for_window(named.request(), false);
    BothSinks both(columns_->sink, for_window.sink);
    SONDE_TRY(importers::read_into(found, path, both, tally));
    if (columns_->sink.span()) {
      SONDE_ASSIGN(part_, part_of(named, for_window));
    }
  } else {
    SONDE_TRY(importers::read_into(found, path, columns_->sink, tally));
  }
  columns_->trace.warnings = tally.warnings();
  span_ = columns_->sink.span();
  return ok_status();
}

Status OpenedFile::look_at(const WindowText& window) {
  if (!window.given()) return ok_status();
  SONDE_ASSIGN(span_, span_of(*reader_));
  if (!span_ || !window.named) return ok_status();
  SONDE_ASSIGN(part_, named_part_of(*reader_, *window.named));
  return ok_status();
}

Result<OpenedFile> OpenedFile::open(importers::Found found, const std::string& path,
                                    const Request& request, const WindowText& window) {
  SONDE_TRY(check_window(window));
  OpenedFile file(request);
  if (found.importer != nullptr) {
    SONDE_TRY(file.read(found, path, window));
    return file;
  }
  SONDE_ASSIGN(file.reader_, store::Reader::open(path));
  SONDE_TRY(file.look_at(window));
  return file;
}

Result<Window> OpenedFile::window(const WindowText& text) const {
  if (!span_ || span_->end_ns < span_->start_ns) return Window{};
  return resolve_window(text, *span_, part_);
}

Result<Trace> OpenedFile::load(const Window& window) {
  if (columns_) return cut_to(window, span_, *std::exchange(columns_, nullptr));
  Request windowed = *request_;
  windowed.window = window;
  return trace::load(*reader_, windowed);
}

Result<Trace> load_file(const std::string& path, const std::string& as, const Request& request,
                        const WindowText& window) {
  SONDE_ASSIGN(importers::Found found, importers::find_importer(path, as));
  SONDE_ASSIGN(auto file, OpenedFile::open(std::move(found), path, request, window));
  SONDE_ASSIGN(const Window resolved, file.window(window));
  return file.load(resolved);
}

}  // namespace sonde::trace
