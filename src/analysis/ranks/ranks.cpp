#include "analysis/ranks/ranks.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/collectives/collectives.h"
#include "analysis/quantile.h"
#include "analysis/recorded_ranks.h"
#include "analysis/time/gpu_time.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using report::Value;
using trace::Category;
using trace::IntervalSet;
using trace::kNone;

// A GPU of a rank, or a rank that has none.
struct RankTime {
  Value rank;
  Value gpu;
  int64_t ops = 0;
  Breakdown time;
  std::string file;
};

Value rank_of(const trace::Trace& trace, int32_t process) {
  if (process == kNone) return {};
  const auto& rank = trace.processes[static_cast<size_t>(process)].rank;
  return rank ? Value(*rank) : Value();
}

struct Work {
  GpuTime time;
  int64_t ops = 0;
};

// Two ranks may share a GPU, or the numbers of those of their machines. Operations of no known
// process count for the one process of their GPU, if there is only one.
std::map<std::pair<int64_t, int32_t>, Work> work_by_process(const trace::Trace& trace) {
  const trace::Ops& ops = trace.ops;
  std::map<int64_t, std::set<int32_t>> processes;  // by GPU
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops.process[i] != kNone) processes[ops.gpu[i]].insert(ops.process[i]);
  }
  std::map<std::pair<int64_t, int32_t>, Work> found;
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto& of_gpu = processes[ops.gpu[i]];
    const int32_t process = of_gpu.size() == 1 ? *of_gpu.begin() : ops.process[i];
    Work& work = found[{ops.gpu[i], process}];
    const trace::Interval time = {ops.start_ns[i], ops.end_ns[i]};
    if (work.ops++ == 0) work.time.extent = time;
    work.time.extent.end_ns = std::max(work.time.extent.end_ns, time.end_ns);
    extend(work.time.sets[static_cast<size_t>(ops.category[i])], time);
  }
  return found;
}

std::vector<bool> collective_names(const trace::Trace& trace) {
  std::vector<bool> are;
  for (const std::string& name : trace.names) are.push_back(is_collective_call(name));
  return are;
}

// A process that launches nothing.
struct CpuProcess {
  int32_t process = kNone;
  bool collectives = false;
  int64_t calls = 0;
  bool is_better_than(const CpuProcess& other) const {
    return std::pair(collectives, calls) > std::pair(other.collectives, other.calls);
  }
};

// Ranks without a GPU: of the processes of a rank, helpers among them, the one that calls
// collectives, or most; of those without a rank the ones that call collectives. Of a file without
// any, and without operations, the one with the most calls.
std::set<int32_t> cpu_ranks(const trace::Trace& trace) {
  if (trace.gpu) return {};  // --gpu asks for one GPU
  const std::vector<bool> collective = collective_names(trace);
  std::map<int32_t, CpuProcess> processes;
  // Those that call a GPU's runtime have one, even if its operations are not asked for.
  std::set<int32_t> with_gpu(trace.ops.process.begin(), trace.ops.process.end());
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    const int32_t process = trace.threads[trace.apis.thread[i]].process;
    if (process == kNone || !trace::is_on_a_thread(trace.apis.kind[i])) continue;
    CpuProcess& one = processes[process];
    one.process = process;
    ++one.calls;
    one.collectives |= collective[trace.apis.label[i]];
    if (trace.apis.kind[i] == trace::ApiKind::kRuntime) with_gpu.insert(process);
  }
  const auto rank = [&](int32_t process) {
    return trace.processes[static_cast<size_t>(process)].rank;
  };
  std::set<int64_t> taken;  // ranks with a GPU
  for (const int32_t process : with_gpu) {
    if (process != kNone && rank(process)) taken.insert(*rank(process));
    processes.erase(process);
  }
  std::set<int32_t> found;
  std::map<int64_t, CpuProcess> by_rank;
  for (const auto& [process, one] : processes) {
    if (!rank(process)) {
      if (one.collectives) found.insert(process);
    } else if (taken.count(*rank(process)) == 0) {
      CpuProcess& best = by_rank[*rank(process)];
      if (one.is_better_than(best)) best = one;
    }
  }
  for (const auto& [number, one] : by_rank) found.insert(one.process);
  return found;
}

// The time of a process: communication is a thread's time in a collective, compute a thread's time
// in an operator and in no collective.
GpuTime cpu_time(const trace::Trace& trace, int32_t process) {
  std::map<uint32_t, std::array<IntervalSet, 2>> threads;
  const std::vector<bool> collective = collective_names(trace);
  GpuTime time;
  bool any = false;
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    const uint32_t thread = trace.apis.thread[i];
    if (trace.threads[thread].process != process || !trace::is_on_a_thread(trace.apis.kind[i])) {
      continue;
    }
    const trace::Interval call = {trace.apis.start_ns[i], trace.apis.end_ns[i]};
    if (!any) time.extent = call;
    any = true;
    time.extent.end_ns = std::max(time.extent.end_ns, call.end_ns);
    const bool is_operator = trace.apis.kind[i] == trace::ApiKind::kOperator;
    if (collective[trace.apis.label[i]]) {
      extend(threads[thread][1], call);
    } else if (is_operator) {
      extend(threads[thread][0], call);
    }
  }
  for (auto& [thread, sets] : threads) {
    IntervalSet& compute = time.sets[static_cast<size_t>(Category::kCompute)];
    IntervalSet& communication = time.sets[static_cast<size_t>(Category::kCommunication)];
    compute = trace::unite(compute, trace::subtract(sets[0], sets[1]));
    communication = trace::unite(communication, sets[1]);
  }
  if (trace.window) time.extent = *trace.window;
  return time;
}

std::vector<RankTime> find_members(std::span<const trace::Trace> traces) {
  std::vector<RankTime> members;
  for (const trace::Trace& trace : traces) {
    for (auto& [place, work] : work_by_process(trace)) {
      if (trace.window) work.time.extent = *trace.window;
      members.push_back({rank_of(trace, place.second), place.first, work.ops,
                         breakdown_of(trace::sweep(work.time.sets), work.time.extent), trace.path});
    }
    for (const int32_t process : cpu_ranks(trace)) {
      const GpuTime time = cpu_time(trace, process);
      members.push_back({rank_of(trace, process), Value(), 0,
                         breakdown_of(trace::sweep(time.sets), time.extent), trace.path});
    }
  }
  std::stable_sort(members.begin(), members.end(), [](const RankTime& a, const RankTime& b) {
    return a.rank < b.rank;  // unknown ones first
  });
  return members;
}

struct Metric {
  const char* key;
  const char* title;
  int64_t (*of)(const RankTime& member);
};

int64_t exposed(const RankTime& member, Category category) {
  return member.time.exposed_ns[static_cast<size_t>(category)];
}

constexpr Metric kMetrics[] = {
    {"total_ns", "Total", [](const RankTime& m) { return m.time.total_ns; }},
    {"compute_ns", "Compute", [](const RankTime& m) { return exposed(m, Category::kCompute); }},
    {"exposed_communication_ns", "Exposed comm",
     [](const RankTime& m) { return exposed(m, Category::kCommunication); }},
    {"exposed_copy_ns", "Exposed copy",
     [](const RankTime& m) { return exposed(m, Category::kCopy); }},
    {"exposed_memset_ns", "Exposed memset",
     [](const RankTime& m) { return exposed(m, Category::kMemset); }},
    {"other_ns", "Other", [](const RankTime& m) { return exposed(m, Category::kOther); }},
    {"idle_ns", "Idle", [](const RankTime& m) { return m.time.idle_ns; }},
};

report::Section members_section(const std::vector<RankTime>& members) {
  report::Section section{.key = "ranks", .empty_text = "No device operations."};
  report::Table& table = section.table;
  table.add_columns({id("rank", "Rank"), id("gpu_id", "GPU"), integer("ops", "Ops")});
  for (const Metric& metric : kMetrics) table.add_column(time(metric.key, metric.title));
  table.add_column(text("file", "File"));
  for (const RankTime& member : members) {
    std::vector<Value> row = {member.rank, member.gpu, member.ops};
    for (const Metric& metric : kMetrics) row.emplace_back(metric.of(member));
    row.emplace_back(member.file);
    table.add_row(std::move(row));
  }
  return section;
}

report::Section spread_section(const std::vector<RankTime>& members) {
  report::Section section{.key = "spread", .title = "Across ranks"};
  report::Table& table = section.table;
  table.add_columns({text("what", "What"), time("min_ns", "Min"), time("median_ns", "Median"),
                     time("max_ns", "Max"), percent("spread_percentage", "Spread"),
                     id("min_rank", "Min of rank"), id("max_rank", "Max of rank")});
  for (const Metric& metric : kMetrics) {
    std::vector<int64_t> values;
    for (const RankTime& member : members) values.push_back(metric.of(member));
    const auto min = std::min_element(values.begin(), values.end());
    const auto max = std::max_element(values.begin(), values.end());
    if (*max == 0) continue;
    const auto rank_of = [&](auto value) {
      return members[static_cast<size_t>(value - values.begin())].rank;
    };
    const Value min_rank = rank_of(min), max_rank = rank_of(max);
    const int64_t min_ns = *min, max_ns = *max;
    const int64_t median_ns = median(values);
    table.add_row({std::string(metric.title), min_ns, median_ns, max_ns,
                   percent_of(max_ns - min_ns, median_ns), min_rank, max_rank});
  }
  return section;
}

}  // namespace

trace::Request ranks_needs() { return {.ops = true, .links = true}; }

report::Report ranks_report(std::span<const trace::Trace> traces) {
  report::Report report;
  report.name = "ranks";
  for (const trace::Trace& trace : traces) {
    report.subject += (report.subject.empty() ? "" : ", ") + trace.path;
    report.warnings.insert(report.warnings.end(), trace.warnings.begin(), trace.warnings.end());
  }
  for (const trace::Trace& trace : traces) {
    if (trace.ops.size() == 0 || has_op_times(trace)) continue;
    report.notes.push_back(trace.path + " has no operation times: the zeros are not measurements");
  }
  RecordedRanks(traces).tell("; each time has its row", report);
  const std::vector<RankTime> members = find_members(traces);
  report.sections.push_back(members_section(members));
  if (std::any_of(members.begin(), members.end(), [](const RankTime& member) {
        return std::holds_alternative<std::monostate>(member.gpu);
      })) {
    report.notes.push_back(
        "a rank without a GPU: Compute is the time of its thread in operators, Exposed comm that "
        "in collectives");
  }
  if (members.size() > 1) {
    report.sections.push_back(spread_section(members));
  } else if (members.size() == 1) {
    report.notes.push_back("one rank only: give the traces of all ranks to compare them");
  }
  return report;
}

const char* const kRanksDefinition =
    "ranks: what each GPU of each rank did, side by side; ranks are processes of one file, or "
    "several files given together. A rank is what the file says it is, and unknown where it does "
    "not. The parts are those of sonde breakdown (time of several classes counts as the first of "
    "compute, communication, copy, memset, other) and add up to Total, which is the window, or "
    "the time from the first start to the last end of the operations of that GPU. Processes that "
    "share a GPU, or GPUs of one number, have a row each, and so has each recording of a rank that "
    "was recorded several times.\n\n"
    "A rank without a GPU (a process that has a rank, or calls collectives of gloo, MPI or UCC) "
    "has none in its row: compute is the time of a thread in an operator and in no collective, "
    "communication that in a collective, and Total goes from its first call to its last.\n\n"
    "Across ranks: Spread is (Max - Min) / Median. Little compute and much exposed communication "
    "on one rank, and the other way round on another, means that one waits for the other: sonde "
    "collectives says for which.\n";

}  // namespace sonde::analysis
