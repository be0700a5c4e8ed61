#include "importers/perfetto/rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/numbered.h"
#include "base/strings.h"

namespace sonde::importers {

namespace {

using Kind = PerfettoCategory::Kind;

struct Known {
  std::string_view category;
  Kind kind;
  std::string_view domain;
};

// Categories of rocprofv3, of ROCm Systems Profiler (after "rocm_"), and of Sonde. What Sonde calls
// "kernel", "copy" and "op" is an operation only if it says which device it ran on.
constexpr Known kCategories[] = {
    {"hip_api", Kind::kCall, "hip"},
    {"hsa_api", Kind::kCall, "hsa"},
    {"rccl_api", Kind::kCall, "rccl"},
    {"rocdecode_api", Kind::kCall, "rocdecode"},
    {"rocjpeg_api", Kind::kCall, "rocjpeg"},
    {"openmp", Kind::kCall, "openmp"},
    {"marker_api", Kind::kMarker, "roctx"},
    {"kernel_dispatch", Kind::kKernel, ""},
    {"memory_copy", Kind::kCopy, ""},
    {"hip_stream", Kind::kOperation, ""},
    {"memory_allocation", Kind::kMemory, "memory"},
    {"scratch_memory", Kind::kMemory, "memory"},
    {"kernel", Kind::kKernel, ""},
    {"copy", Kind::kCopy, ""},
    {"op", Kind::kOperation, ""},
    {"sonde_blocked", Kind::kSample, ""},
};
constexpr std::string_view kDomains[] = {"hip",   "hsa",    "cuda",      "opencl",  "rccl",
                                         "roctx", "nvtx",   "itt",       "torch",   "python",
                                         "sonde", "memory", "rocdecode", "rocjpeg", "openmp"};

bool is_sondes_own(std::string_view category) {
  return category == "kernel" || category == "copy" || category == "op";
}

}  // namespace

PerfettoCategory perfetto_category(std::string_view category) {
  std::string_view word = category;
  if (starts_with_any(word, {"rocm_"})) word.remove_prefix(5);
  for (const Known& known : kCategories) {
    if (word == known.category) return {known.kind, known.domain};
  }
  for (const std::string_view domain : kDomains) {
    if (category == domain) return {Kind::kCall, domain};
  }
  return {};
}

Status PerfettoRows::write() {
  describe();
  slices();
  SONDE_TRY(sink_.status());
  for (const PerfettoStage& one : model_.stages) stage(one);
  for (size_t i = 0; i < slice_ops_.size(); ++i) slice_op(i);
  const Wants wants = sink_.wants();
  if (wants.others || wants.devices) gpus();
  if (wants.others || wants.sensors) counters();
  if (wants.others) flows();
  return sink_.status();
}

void PerfettoRows::describe() {
  for (const auto& [pid, said] : model_.tracks.processes()) {
    const int64_t process = sink_.process(pid);
    ProcessFacts facts;
    facts.command = said.command;
    facts.ppid = said.ppid;
    // "rank 3: train.py" is how Sonde calls a process of a job.
    std::string_view title = said.name;
    if (starts_with_any(title, {"rank "})) {
      const size_t colon = title.find(':');
      facts.rank = parse_int(title.substr(5, colon == title.npos ? colon : colon - 5));
      if (facts.rank) title.remove_prefix(std::min(colon, title.size() - 2) + 2);
    }
    // Nor is "process 7" a name.
    if (title == "process " + std::to_string(pid)) title = {};
    if (said.command.empty()) facts.executable = title;
    const std::string clock = PerfettoClocks::name(model_.clocks.trace_clock());
    facts.clock = clock;
    sink_.describe(process, facts);
  }
  for (const auto& thread : model_.tracks.threads()) {
    const bool named = thread.name != "thread " + std::to_string(thread.tid);
    sink_.thread(sink_.process(thread.pid), thread.tid, named ? thread.name : std::string_view());
  }
  for (const uint64_t clock : {kPerfettoRealtime, kPerfettoMonotonic, kPerfettoBoottime}) {
    if (clock == model_.clocks.trace_clock()) continue;
    if (const auto reading = model_.clocks.reading(clock)) {
      sink_.clock(0, PerfettoClocks::name(clock), reading->first, reading->second);
    }
  }
}

void PerfettoRows::slices() {
  std::vector<std::vector<uint32_t>> by_track(model_.tracks.size());
  std::vector<uint32_t> counts(model_.tracks.size());
  for (const PerfettoEvent& event : model_.events) {
    ++counts[event.track];
    last_ns_ = std::max(last_ns_, event.time_ns);
  }
  for (size_t i = 0; i < counts.size(); ++i) by_track[i].reserve(counts[i]);
  for (size_t i = 0; i < model_.events.size(); ++i) {
    by_track[model_.events[i].track].push_back(static_cast<uint32_t>(i));
  }
  for (uint32_t track = 0; track < by_track.size(); ++track) {
    if (!by_track[track].empty()) slices_of(track, std::move(by_track[track]));
  }
  launchers_by_number();
  launchers_by_flow();
}

void PerfettoRows::slices_of(uint32_t track, std::vector<uint32_t> events) {
  uint64_t stray_ends = 0;
  const auto slices = pair_slices(model_.events, std::move(events), last_ns_, stray_ends);
  tally_.skip("ends of slices that never began", path_, stray_ends);
  const PerfettoTracks::Place place = model_.tracks.place(track);
  bool described = place.thread;
  for (const PerfettoSlice& slice : slices) {
    if (slice.end_ns < slice.start_ns) {
      tally_.skip("slices that end before they start", path_);
      continue;
    }
    const PerfettoEvent& event = model_.events[slice.event];
    if (perfetto_category(text(event.category)).kind == Kind::kSample) {
      tally_.skip("samples of call stacks", path_);
      continue;
    }
    if (!is_operation(event)) {
      call(slice, track);
      if (!std::exchange(described, true)) {
        sink_.thread(sink_.process(place.pid), place.tid, text(model_.tracks.at(track).name));
      }
      continue;
    }
    remember_flows(model_.detail_of(event), slice.start_ns, 0, slice_ops_.size(), place);
    slice_ops_.push_back({slice, track});
  }
}

bool PerfettoRows::is_operation(const PerfettoEvent& event) const {
  const Kind kind = perfetto_category(text(event.category)).kind;
  if (kind != Kind::kKernel && kind != Kind::kCopy && kind != Kind::kOperation) return false;
  const PerfettoOpFacts& facts = model_.facts_of(event);
  return !is_sondes_own(text(event.category)) || (facts.has_device && facts.has_stream);
}

void PerfettoRows::call(const PerfettoSlice& slice, uint32_t track) {
  const PerfettoEvent& event = model_.events[slice.event];
  const PerfettoDetail detail = model_.detail_of(event);
  const PerfettoTracks::Place place = model_.tracks.place(track);
  const PerfettoCategory category = perfetto_category(text(event.category));
  Api row;
  row.process = sink_.process(place.pid);
  row.tid = place.tid;
  row.start_ns = slice.start_ns;
  row.end_ns = slice.end_ns;
  row.category = name(event.category);
  row.domain = sink_.name(category.domain);
  if (detail.marker || category.kind == Kind::kMarker) {
    row.name = sink_.name("UserMarker");
    row.args = text(event.name);
    if (row.domain == 0) row.domain = row.category;
  } else {
    row.name = name(event.name);
    row.args = arguments(detail);
  }
  const int64_t api = sink_.api(row);
  if (!slice.finished) {
    sink_.unfinished(api);
    tally_.count("slices without an end");
  }
  links_of(event, row, place.pid, api);
  remember_flows(detail, slice.start_ns, api, kNoOp, place);
  tally_.count(slice.start_ns == slice.end_ns ? "moments" : "slices");
}

void PerfettoRows::links_of(const PerfettoEvent& event, const Api& row, int64_t pid, int64_t api) {
  const PerfettoDetail detail = model_.detail_of(event);
  for (uint32_t i = 0; i < detail.stack_size; ++i) {
    // rocpd_stackframe counts from the innermost.
    sink_.stack_frame(api, static_cast<int>(detail.stack_size - 1 - i),
                      name(model_.frames[detail.stack + i]));
  }
  for (uint32_t i = 0; i < detail.submit_count; ++i) {
    api_of_stage_.try_emplace(model_.submitted[detail.submits + i], api);
  }
  const int64_t correlation = model_.facts_of(event).correlation;
  if (correlation > 0) calls_.add({pid, correlation, row.start_ns, row.end_ns, api});
}

void PerfettoRows::remember_flows(const PerfettoDetail& detail, int64_t time_ns, int64_t api,
                                  size_t op, const PerfettoTracks::Place& place) {
  for (uint32_t i = 0; i < detail.flow_count; ++i) {
    const PerfettoFlow& flow = model_.flows[detail.flows + i];
    flow_ends_.push_back({flow.id, time_ns, flow.ends, api, op, place});
  }
}

std::string PerfettoRows::process_label(int64_t pid) const {
  const auto& processes = model_.tracks.processes();
  const auto known = processes.find(pid);
  return std::to_string(pid) + " " + (known == processes.end() ? "" : known->second.name);
}

// A track below a process belongs to that process; others are assigned by numbers and times.
void PerfettoRows::launchers_by_number() {
  std::vector<TrackedOp> ops;
  std::vector<size_t> tracked;  // index into slice_ops_
  std::vector<std::string> tracks, processes;
  std::unordered_map<uint32_t, uint32_t> number_of;
  for (size_t i = 0; i < slice_ops_.size(); ++i) {
    const SliceOp& one = slice_ops_[i];
    const int64_t correlation = model_.facts_of(model_.events[one.slice.event]).correlation;
    if (correlation <= 0) continue;
    const int64_t pid = model_.tracks.place(one.track).pid;
    if (const auto* call = calls_.call(pid, correlation, one.slice.start_ns)) {
      api_of_op_.emplace(i, call->id);
      continue;
    }
    const std::string_view track = text(model_.tracks.at(one.track).name);
    ops.push_back({numbered(number_of, tracks, one.track, track), correlation, one.slice.start_ns});
    tracked.push_back(i);
  }
  for (const int64_t pid : calls_.processes()) processes.push_back(process_label(pid));
  const Launchers launchers = who_launched(calls_, ops, tracks, processes);
  for (size_t i = 0; i < tracked.size(); ++i) {
    if (launchers.calls[i] != nullptr) api_of_op_.emplace(tracked[i], launchers.calls[i]->id);
  }
}

// Of flow_ends_ in order, those with one id.
template <typename Take>
void PerfettoRows::each_flow(Take&& take) const {
  for (size_t begin = 0, end = 0; begin < flow_ends_.size(); begin = end) {
    while (end < flow_ends_.size() && flow_ends_[end].id == flow_ends_[begin].id) ++end;
    take(std::span(flow_ends_).subspan(begin, end - begin));
  }
}

// A flow from a call to an operation is a launch.
void PerfettoRows::launchers_by_flow() {
  std::stable_sort(flow_ends_.begin(), flow_ends_.end(), [](const FlowEnd& a, const FlowEnd& b) {
    return a.id != b.id ? a.id < b.id : a.time_ns < b.time_ns;
  });
  each_flow([&](std::span<const FlowEnd> ends) {
    const auto launcher =
        std::find_if(ends.begin(), ends.end(), [](const FlowEnd& end) { return end.api != 0; });
    if (launcher == ends.end()) return;
    for (const FlowEnd& end : ends) {
      if (end.op != kNoOp) api_of_op_.try_emplace(end.op, launcher->api);
    }
  });
}

// What is left are arrows from slice to slice. launch() passes on those that launch.
void PerfettoRows::flows() {
  each_flow([&](std::span<const FlowEnd> ends) {
    for (const FlowEnd& end : ends) {
      if (end.op != kNoOp) return;
    }
    if (ends.size() < 2) return tally_.count("flow ids of one slice");
    const std::string id = std::to_string(ends.front().id);
    for (const FlowEnd& end : ends) {
      const bool is_last = end.ends || &end == &ends.back();
      const char phase = &end == &ends.front() ? 's' : is_last ? 'f' : 't';
      sink_.flow({0, 0, id, phase, sink_.process(end.place.pid), end.place.tid, end.time_ns});
    }
  });
}

Status write_perfetto(const PerfettoModel& model, const std::string& path, Sink& sink,
                      Tally& tally) {
  return PerfettoRows(model, path, sink, tally).write();
}

}  // namespace sonde::importers
