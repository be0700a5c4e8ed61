#include <algorithm>
#include <queue>

#include "analysis/analysis.h"
#include "analysis/operations/op_groups.h"
#include "analysis/time/gpu_time.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using trace::Category;
using trace::IntervalSet;

const IntervalSet& set_of(const GpuTime& gpu, Category category) {
  return gpu.sets[static_cast<size_t>(category)];
}

report::Section pairs_section(const trace::Trace& trace, const std::map<int64_t, GpuTime>& gpus) {
  report::Section section{
      .key = "overlap",
      .empty_text = !has_op_times(trace)
                        ? no_op_times(trace)
                        : "Neither communication nor copies that could be hidden."};
  report::Table& table = section.table;
  table.add_columns({id("gpu_id", "GPU"), text("what", "What"), text("behind", "Behind"),
                     time("total_ns", "Total"), time("hidden_ns", "Hidden"),
                     time("exposed_ns", "Exposed"), percent("hidden_percentage", "Hidden")});
  struct Pair {
    Category what, behind;
  };
  constexpr Pair kPairs[] = {{Category::kCommunication, Category::kCompute},
                             {Category::kCopy, Category::kCompute},
                             {Category::kCopy, Category::kCommunication},
                             {Category::kMemset, Category::kCompute}};
  for (const auto& [id, gpu] : gpus) {
    for (const Pair& pair : kPairs) {
      const int64_t total = trace::length_ns(set_of(gpu, pair.what));
      if (set_of(gpu, pair.what).empty()) continue;
      const int64_t hidden =
          trace::length_ns(trace::intersect(set_of(gpu, pair.what), set_of(gpu, pair.behind)));
      table.add_row({int64_t{id}, std::string(category_name(pair.what)),
                     std::string(category_name(pair.behind)), total, hidden, total - hidden,
                     percent_of(hidden, total)});
    }
  }
  return section;
}

// Each communication kernel: its time by name, and how much of it compute hides.
report::Section kernels_section(const trace::Trace& trace, const std::map<int64_t, GpuTime>& gpus) {
  report::Section section{.key = "communication",
                          .title = "Communication kernels",
                          .empty_text = "The trace has no communication kernels."};
  report::Table& table = section.table;
  table.add_columns({name("name", "Name"), integer("calls", "Calls"), time("total_ns", "Total"),
                     time("hidden_ns", "Hidden"), time("exposed_ns", "Exposed"),
                     percent("hidden_percentage", "Hidden")});
  const OpGroups groups = group_ops(trace, {"name"}, ops_where(trace, [&](size_t op) {
                                      return trace.ops.category[op] == Category::kCommunication;
                                    }));
  std::vector<int64_t> hidden_ns(groups.groups.size());
  std::map<int64_t, size_t> next;  // by GPU: the first interval of compute that may overlap
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (groups.group_of[i] == kNoGroup) continue;
    const IntervalSet& compute = set_of(gpus.at(trace.ops.gpu[i]), Category::kCompute);
    size_t& first = next[trace.ops.gpu[i]];
    while (first < compute.size() && compute[first].end_ns <= trace.ops.start_ns[i]) ++first;
    for (size_t k = first; k < compute.size() && compute[k].start_ns < trace.ops.end_ns[i]; ++k) {
      hidden_ns[groups.group_of[i]] += std::min(compute[k].end_ns, trace.ops.end_ns[i]) -
                                       std::max(compute[k].start_ns, trace.ops.start_ns[i]);
    }
  }
  for (size_t group = 0; group < hidden_ns.size(); ++group) {
    const OpGroup& kernel = groups.groups[group];
    const int64_t hidden = hidden_ns[group];
    table.add_row({kernel.name(), kernel.time.calls, kernel.time.total_ns, hidden,
                   kernel.time.total_ns - hidden, percent_of(hidden, kernel.time.total_ns)});
  }
  return section;
}

// Time by how many operations of a GPU ran at once.
report::Section depth_section(const trace::Trace& trace) {
  report::Section section{
      .key = "at_once", .title = "Operations at once", .empty_text = no_op_times(trace)};
  section.table.add_columns(
      {id("gpu_id", "GPU"), integer("operations", "At once"), time("time_ns", "Time")});
  struct Running {
    std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ends;
    std::map<int64_t, int64_t> time_of_depth;
    int64_t since_ns = 0;
  };
  std::map<int64_t, Running> gpus;
  const auto leave_until = [](Running& running, int64_t time_ns) {
    while (!running.ends.empty() && running.ends.top() <= time_ns) {
      const int64_t end = running.ends.top();
      running.time_of_depth[static_cast<int64_t>(running.ends.size())] += end - running.since_ns;
      running.since_ns = end;
      running.ends.pop();
    }
  };
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.op_ns(i) == 0) continue;
    Running& running = gpus[trace.ops.gpu[i]];
    const int64_t start = trace.ops.start_ns[i];
    leave_until(running, start);
    if (!running.ends.empty()) {
      running.time_of_depth[static_cast<int64_t>(running.ends.size())] += start - running.since_ns;
    }
    running.since_ns = start;
    running.ends.push(trace.ops.end_ns[i]);
  }
  for (auto& [id, running] : gpus) {
    leave_until(running, std::numeric_limits<int64_t>::max());
    for (const auto& [depth, time_ns] : running.time_of_depth) {
      if (time_ns != 0) section.table.add_row({int64_t{id}, depth, time_ns});
    }
  }
  return section;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters&) {
  report::Report report = begin_report("overlap", trace);
  const auto gpus = gpu_times(trace);
  report.sections = {pairs_section(trace, gpus), kernels_section(trace, gpus),
                     depth_section(trace)};
  return report;
}

constexpr const char* kDefinition =
    "overlap: how much of the time of communication, copies and memsets is hidden behind other "
    "work of the same GPU. Total is the length of the union of the operations of What (the classes "
    "of sonde breakdown), Hidden the part of it in which at least one operation of Behind ran as "
    "well, Exposed the rest, and Hidden % is Hidden / Total. Time hidden behind compute and behind "
    "communication at once is in both rows.\n\n"
    "Communication kernels: Total adds up the kernels of each name, which may overlap each other; "
    "Hidden is the part of each in which a kernel of compute ran.\n\n"
    "Operations at once: how long exactly that many operations ran on a GPU at the same time. "
    "Zero-length operations do not count.\n";

}  // namespace

Analysis overlap_analysis() {
  return {"overlap",
          "Show how much of communication and copies is hidden behind computation",
          "Shows this for each GPU and for each communication kernel.",
          kDefinition,
          {{"sonde overlap trace.rpd", "what is hidden and what is exposed"},
           {"sonde overlap trace.json --format json", "the same as values for a script"}},
          {},
          [](const Parameters&) { return trace::Request{.ops = true}; },
          run,
          true};
}

}  // namespace sonde::analysis
