#include "trace/foreign.h"

#include <algorithm>
#include <utility>

#include "importers/import.h"
#include "store/string_table.h"
#include "trace/columns.h"

namespace sonde::trace {

namespace {

using importers::Name;

// Fills the columns of a Trace. Names are indices into Trace::names, of which 0 is "".
class ColumnSink : public importers::Sink {
 public:
  ColumnSink(const Request& request, bool needs_span, Trace& trace)
      : request_(request), needs_span_(needs_span), trace_(trace), shapes_(trace) {
    trace_.names.emplace_back();
    texts_.insert("", kEmpty);
  }

  importers::Wants wants() const override {
    const bool details = request_.op_bytes || request_.op_shapes;
    return {.ops = request_.ops || needs_span_,
            .op_details = details,
            .apis = request_.apis || needs_span_,
            .args = false,
            .others = false};
  }

  Name name(std::string_view text) override {
    if (const int64_t known = texts_.find(text); known != 0) return known - kEmpty;
    const auto index = static_cast<Name>(trace_.names.size());
    trace_.names.emplace_back(text);
    texts_.insert(text, index + kEmpty);
    return index;
  }

  int64_t process(int64_t) override { return 1; }

  int64_t api(const importers::Api& row) override {
    extend_span(row.start_ns, row.end_ns);
    if (!request_.apis) return ++calls_;
    Apis& apis = trace_.apis;
    apis.start_ns.push_back(row.start_ns);
    apis.end_ns.push_back(row.end_ns);
    apis.name.push_back(static_cast<NameId>(row.name));
    apis.domain.push_back(static_cast<NameId>(row.domain));
    return ++calls_;
  }

  int64_t op(const importers::Op& row) override {
    extend_span(row.start_ns, row.end_ns);
    if (!request_.ops || (request_.gpu && *request_.gpu != row.gpu)) return kNotKept;
    Ops& ops = trace_.ops;
    ops.start_ns.push_back(row.start_ns);
    ops.end_ns.push_back(row.end_ns);
    ops.gpu.push_back(static_cast<int32_t>(row.gpu));
    ops.name.push_back(static_cast<NameId>(row.name));
    ops.type.push_back(static_cast<NameId>(row.type));
    if (request_.op_ids) ops.id.push_back(static_cast<int64_t>(ops.size()));
    if (request_.op_bytes) ops.bytes.push_back(-1);
    if (request_.op_shapes) ops.shape.push_back(0);
    return static_cast<int64_t>(ops.size());
  }

  void launch(const importers::Launch& launch) override {
    if (launch.op == kNotKept) return;
    const auto row = static_cast<size_t>(launch.op) - 1;
    if (request_.op_bytes && launch.bytes >= 0) trace_.ops.bytes[row] = launch.bytes;
    if (!request_.op_shapes || launch.grid[0] < 0) return;
    LaunchShape shape;
    for (int i = 0; i < 3; ++i) {
      shape.grid[i] = std::max<int64_t>(launch.grid[i], 0);
      shape.group[i] = std::max<int64_t>(launch.group[i], 0);
    }
    trace_.ops.shape[row] = shapes_.index(shape);
  }

  const std::optional<Interval>& span() const { return span_; }

 private:
  static constexpr int64_t kEmpty = 1;  // the table's id of index 0
  static constexpr int64_t kNotKept = -1;

  void extend_span(int64_t start_ns, int64_t end_ns) {
    if (!needs_span_) return;
    if (!span_) span_ = Interval{start_ns, end_ns};
    span_->start_ns = std::min(span_->start_ns, start_ns);
    span_->end_ns = std::max(span_->end_ns, end_ns);
  }

  const Request& request_;
  bool needs_span_;
  Trace& trace_;
  ShapeTable shapes_;
  store::StringTable texts_;
  std::optional<Interval> span_;
  int64_t calls_ = 0;
};

// Rows that end before they start, or lie outside of the window.
std::vector<bool> rows_to_keep(Interval window, std::vector<int64_t>& starts,
                               std::vector<int64_t>& ends, uint64_t& bad, uint64_t& clipped) {
  std::vector<bool> keep(starts.size());
  for (size_t i = 0; i < keep.size(); ++i) {
    Interval times = {starts[i], ends[i]};
    if (times.end_ns < times.start_ns) {
      ++bad;
      times.end_ns = times.start_ns;
    }
    keep[i] = clip_to(window, times, clipped);
    starts[i] = times.start_ns;
    ends[i] = times.end_ns;
  }
  return keep;
}

// Launches may come in another order than their operations, and of those some have been taken out;
// the numbers of shapes go by the first operation that has them.
void renumber_shapes(Trace& trace) {
  constexpr uint32_t kNotSeen = ~uint32_t{0};
  std::vector<uint32_t> number(trace.shapes.size(), kNotSeen);
  std::vector<LaunchShape> shapes(1);
  number[0] = 0;
  for (uint32_t& shape : trace.ops.shape) {
    if (number[shape] == kNotSeen) {
      number[shape] = static_cast<uint32_t>(shapes.size());
      shapes.push_back(trace.shapes[shape]);
    }
    shape = number[shape];
  }
  trace.shapes = std::move(shapes);
}

}  // namespace

Result<Trace> load_foreign(const importers::Importer& importer, const std::string& path,
                           const Request& request, const WindowText& window_text) {
  SONDE_TRY(check_window(window_text));
  Trace trace;
  trace.path = path;
  importers::Tally tally;
  ColumnSink sink(request, window_text.given(), trace);
  SONDE_TRY(importers::read_into(importer, path, sink, tally));
  trace.warnings = tally.warnings();

  Window window;
  if (sink.span() && sink.span()->end_ns >= sink.span()->start_ns) {
    SONDE_ASSIGN(window, resolve_window(window_text, *sink.span()));
  }
  trace.window = window.extent;
  Changed& changed = trace.changed;
  keep_ops(trace, rows_to_keep(window.select, trace.ops.start_ns, trace.ops.end_ns, changed.bad_ops,
                               changed.clipped_ops));
  keep_apis(trace, rows_to_keep(window.select, trace.apis.start_ns, trace.apis.end_ns,
                                changed.bad_apis, changed.clipped_apis));
  complete_names(trace);
  filter_by_name(request, trace);
  renumber_shapes(trace);
  add_skip_warnings(trace);
  return trace;
}

Result<Trace> load_file(const std::string& path, const std::string& as, const Request& request,
                        const WindowText& window) {
  SONDE_ASSIGN(const importers::Importer* importer, importers::find_importer(path, as));
  if (importer != nullptr) return load_foreign(*importer, path, request, window);
  SONDE_ASSIGN(auto reader, store::Reader::open(path));
  Request windowed = request;
  SONDE_ASSIGN(windowed.window, window_of(reader, window));
  return load(reader, windowed);
}

}  // namespace sonde::trace
