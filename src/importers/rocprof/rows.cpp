#include "importers/rocprof/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "importers/rocprof/names.h"

namespace sonde::importers {

namespace {

// Columns of a kernel's row that are not counters, and those of them that have no place of their
// own.
constexpr std::string_view kFacts[] = {
    "Index",      "KernelName", "gpu-id", "queue-id", "queue-index", "pid",        "tid",
    "grd",        "wgr",        "lds",    "scr",      "arch_vgpr",   "accum_vgpr", "vgpr",
    "sgpr",       "wave_size",  "sig",    "obj",      "DispatchNs",  "BeginNs",    "EndNs",
    "CompleteNs", "DurationNs", "fbar",   "XCC_INDEX"};
constexpr std::string_view kArguments[] = {"queue-index", "tid",       "arch_vgpr", "accum_vgpr",
                                           "vgpr",        "sgpr",      "wave_size", "sig",
                                           "obj",         "CompleteNs"};
constexpr std::string_view kBarrier = "<barrier packet>";

std::optional<double> real(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() || *end != '\0' ? std::nullopt : std::optional(value);
}

}  // namespace

void set_axes(int64_t (&axes)[3], int64_t product) {
  axes[0] = product;
  axes[1] = axes[2] = 1;
}

void RocprofRecord::add(std::string_view name, std::string_view text) {
  if (used_ == fields_.size()) fields_.emplace_back();
  auto& [known_name, value] = fields_[used_++];
  known_name = name;
  value = text == "None" ? std::string_view() : text;
}

std::string_view RocprofRecord::text(std::string_view name) const {
  for (size_t i = 0; i < used_; ++i) {
    if (fields_[i].first == name) return fields_[i].second;
  }
  return {};
}

std::optional<int64_t> RocprofRecord::integer(std::string_view name) const {
  return parse_int(trim(text(name)));
}

bool RocprofRows::times(const RocprofRecord& record, std::string_view place, int64_t& start_ns,
                        int64_t& end_ns) {
  const auto start = record.integer("BeginNs"), end = record.integer("EndNs");
  if (!start || !end) {
    tally_.skip("records without times (rocprof --timestamp on records them)", place);
    return false;
  }
  if (*end < *start || *start < 0) {
    tally_.skip("records that end before they start", place);
    return false;
  }
  start_ns = *start;
  end_ns = *end;
  return true;
}

int64_t RocprofRows::kernel(const RocprofRecord& record, std::string_view place) {
  Op op;
  if (!times(record, place, op.start_ns, op.end_ns)) return 0;
  op.gpu = record.integer_or("gpu-id", 0);
  op.queue = record.integer_or("queue-id", 0);
  op.name = sink_.name(valid_utf8(record.text("KernelName")));
  op.type = sink_.name("KernelExecution");
  std::string args;
  for (const std::string_view column : kArguments) {
    const std::string_view value = record.text(column);
    if (value.empty()) continue;
    args += fmt::format("{}{} = {}", args.empty() ? "" : " | ", column, valid_utf8(value));
  }
  op.args = args;
  Launch launch;
  launch.op = sink_.op(op);
  launch.process = sink_.process(record.integer_or("pid", 0));
  launch.name = op.name;
  launch.op_class = store::OpClass::kKernel;
  launch.submitted_ns = record.integer_or("DispatchNs", -1);
  launch.group_segment_bytes = record.integer_or("lds", -1);
  launch.private_segment_bytes = record.integer_or("scr", -1);
  if (const auto items = record.integer("grd")) set_axes(launch.grid, *items);
  if (const auto group = record.integer("wgr")) set_axes(launch.group, *group);
  sink_.launch(launch);
  const std::string kernel = valid_utf8(record.text("KernelName"));
  const char* const vector = record.text("arch_vgpr").empty() ? "vgpr" : "arch_vgpr";
  sink_.kernel_code({launch.process, op.gpu, kernel, record.integer_or(vector, -1),
                     record.integer_or("accum_vgpr", -1), record.integer_or("sgpr", -1)});
  for (size_t i = 0; i < record.size(); ++i) {
    const auto& [column, text] = record.at(i);
    if (std::find(std::begin(kFacts), std::end(kFacts), column) != std::end(kFacts)) continue;
    if (const auto value = real(text)) {
      sink_.op_counter(launch.op, sink_.name(valid_utf8(column)), *value);
    }
  }
  tally_.count("kernels");
  return launch.op;
}

int64_t RocprofRows::operation(const RocprofRecord& record, std::string_view place) {
  Op op;
  if (!times(record, place, op.start_ns, op.end_ns)) return 0;
  const std::string name = valid_utf8(record.text("Name"));
  const bool moves = store::moves_memory(store::class_of_type(name));
  const bool barrier = name == kBarrier;
  op.gpu = record.integer_or("dev-id", 0);
  op.queue = record.integer_or("queue-id", 0);
  op.type = sink_.name(moves ? memory_op_type(name) : barrier ? "Barrier" : "KernelExecution");
  if (!moves && !barrier) op.name = sink_.name(name);
  Launch launch;
  launch.op = sink_.op(op);
  launch.process = sink_.process(record.integer_or("pid", 0));
  launch.name = op.name;
  launch.op_class = moves     ? store::OpClass::kCopy
                    : barrier ? store::OpClass::kOther
                              : store::OpClass::kKernel;
  launch.stream = stream_unless_0(record.integer_or("stream-id", 0));
  launch_of_op_[launch.op] = launches_.size();
  launches_.push_back(launch);
  tally_.count("operations");
  return launch.op;
}

Api RocprofRows::api_row(const RocprofRecord& record) {
  Api row;
  row.process = sink_.process(record.integer_or("pid", 0));
  row.tid = record.integer_or("tid", 0);
  return row;
}

int64_t RocprofRows::call(const RocprofRecord& record, std::string_view domain,
                          std::string_view place) {
  Api row = api_row(record);
  if (!times(record, place, row.start_ns, row.end_ns)) return 0;
  row.name = sink_.name(valid_utf8(record.text("Name")));
  row.domain = sink_.name(domain);
  const std::string args = valid_utf8(record.text("args"));
  row.args = args;
  tally_.count("calls");
  return sink_.api(row);
}

int64_t RocprofRows::marker(const RocprofRecord& record, std::string_view place) {
  Api row = api_row(record);
  if (!times(record, place, row.start_ns, row.end_ns)) return 0;
  row.name = sink_.name("UserMarker");
  row.domain = sink_.name("roctx");
  const std::string text = valid_utf8(record.text("Name"));
  row.args = text;
  tally_.count("markers");
  return sink_.api(row);
}

void RocprofRows::launched(int64_t op, int64_t api) {
  const auto launch = launch_of_op_.find(op);
  if (launch != launch_of_op_.end() && launches_[launch->second].api == 0) {
    launches_[launch->second].api = api;
  }
}

void RocprofRows::finish() {
  for (const Launch& launch : launches_) sink_.launch(launch);
  launches_.clear();
  launch_of_op_.clear();
}

}  // namespace sonde::importers
