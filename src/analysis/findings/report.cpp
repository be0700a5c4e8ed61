// The header of `sonde check` (what ran, for how long, in which steps) and the findings as a table.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/analysis.h"
#include "analysis/collectives/collectives.h"
#include "analysis/findings/rules.h"
#include "analysis/recorded_ranks.h"
#include "analysis/stacks/sample_totals.h"
#include "analysis/totals.h"
#include "base/join.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using report::Section;
using trace::Category;
using trace::Interval;

// Sums over traces and GPUs.
struct Overview {
  std::map<std::string, int64_t> devices;  // how many of each name
  int64_t wall_ns = 0, before_ns = 0;      // the longest; before the first operation
  int64_t gpu_wall_ns = 0, work_ns = 0;    // of all GPUs: wall time, and first to last operation
  int64_t busy_ns = 0, communication_ns = 0, exposed_ns = 0;
  int64_t busy_of_wall_ns = 0;  // with the warm-up, as the wall time
  bool has_warm_up = false;
  int64_t import_ns = 0, cpu_ns = 0;  // of samples; the one is part of the other
  int64_t driver_ns = 0;              // likewise in a GPU's driver
  std::string hardly_used;            // "GPU 1, GPU 3"
  trace::CpuTime cpu_time;
};

// Which process uses a GPU: the first that does, or kNone.
std::map<int64_t, int32_t> processes_of_gpus(const trace::Ops& ops) {
  std::map<int64_t, int32_t> processes;
  for (size_t i = 0; i < ops.process.size(); ++i) {
    const auto [entry, is_new] = processes.try_emplace(ops.gpu[i], ops.process[i]);
    if (entry->second == trace::kNone) entry->second = ops.process[i];
  }
  return processes;
}

// GPUs that were counted. One that was recorded several times, one after the other, counts once.
class KnownGpus {
 public:
  explicit KnownGpus(std::span<const trace::Trace> traces) : traces_(traces), ranks_(traces) {}

  bool insert(size_t file, int32_t process, int64_t gpu) {
    if (process == trace::kNone) return known_.insert({{file, process}, gpu}).second;
    const int64_t pid = traces_[file].processes[static_cast<size_t>(process)].pid;
    const int64_t first_gpu = trace::first_gpu_of_file(trace::file_of(pid));
    return known_.insert({ranks_.first({file, process}), gpu - first_gpu}).second;
  }

 private:
  std::span<const trace::Trace> traces_;
  const RecordedRanks ranks_;
  std::set<std::pair<RecordedRanks::Place, int64_t>> known_;
};

void add_gpus(std::span<const trace::Trace> traces, size_t file, KnownGpus& known,
              Overview& overview) {
  const trace::Trace& trace = traces[file];
  const auto used = used_gpus(trace);
  const auto processes = processes_of_gpus(trace.ops);
  for (const auto& [id, gpu] : gpu_times(trace)) {
    if (!used.contains(id)) {
      overview.hardly_used += fmt::format("{}GPU {}", overview.hardly_used.empty() ? "" : ", ", id);
    }
    const auto& communication = gpu.sets[static_cast<size_t>(Category::kCommunication)];
    const auto& compute = gpu.sets[static_cast<size_t>(Category::kCompute)];
    overview.work_ns += gpu.extent.end_ns - gpu.extent.start_ns;
    overview.busy_ns += busy_ns(gpu);
    overview.communication_ns += trace::length_ns(communication);
    overview.exposed_ns += trace::length_ns(trace::subtract(communication, compute));
    const auto process = processes.find(id);
    if (!known.insert(file, process == processes.end() ? trace::kNone : process->second, id)) {
      continue;
    }
    const auto device = std::find_if(trace.devices.begin(), trace.devices.end(),
                                     [gpu_id = id](const auto& one) { return one.gpu == gpu_id; });
    const bool is_named = device != trace.devices.end() && !device->name.empty();
    ++overview.devices[is_named ? device->name : "GPU whose name is not in the file"];
  }
}

Overview overview_of(std::span<const trace::Trace> traces, std::span<const Pace> paces) {
  Overview overview;
  KnownGpus known(traces);
  for (size_t i = 0; i < traces.size(); ++i) {
    const trace::Trace& trace = traces[i];
    if (!trace.program) continue;
    const SampleTotals sampled = sample_totals(trace);
    overview.import_ns += sampled.import_ns;
    overview.cpu_ns += sampled.cpu_ns;
    overview.driver_ns += sampled.driver.cpu_ns;
    const trace::CpuTime cpu_time = trace.cpu_time.value_or(trace::CpuTime());
    overview.cpu_time.used_ns += cpu_time.used_ns;
    overview.cpu_time.waited_ns += cpu_time.waited_ns;
    add_gpus(traces, i, known, overview);
    std::optional<Pace::Whole> whole;
    if (i < paces.size()) whole = paces[i].whole;
    overview.has_warm_up |= whole.has_value();
    if (!whole && trace.ops.size() != 0) whole = whole_of(trace);
    const Interval extent = whole ? whole->extent : *trace.program;
    const int64_t wall_ns = extent.end_ns - extent.start_ns;
    overview.wall_ns = std::max(overview.wall_ns, wall_ns);
    if (!whole) continue;
    overview.before_ns = std::max(overview.before_ns, whole->first_op_ns - extent.start_ns);
    overview.gpu_wall_ns += wall_ns * whole->gpus;
    overview.busy_of_wall_ns += whole->busy_ns;
  }
  return overview;
}

// The host is not to blame if it was kept from running.
std::string cpu_wait_text(const trace::CpuTime& time, int64_t wall_ns) {
  constexpr int64_t kOfWork = 5, kOfWall = 20;  // a fifth and a twentieth are worth a word
  const int64_t work_ns = time.used_ns + time.waited_ns;
  if (time.waited_ns * kOfWork < work_ns || time.waited_ns * kOfWall <= wall_ns) return "";
  return fmt::format(
      "threads of the program waited {} for a CPU, {:.0f} % of the time in which they had work: "
      "other programs, or a CPU limit (taskset, a container, Slurm's --cpus-per-task), held them "
      "up",
      time_text(time.waited_ns),
      100.0 * static_cast<double>(time.waited_ns) / static_cast<double>(work_ns));
}

std::string devices_text(const std::map<std::string, int64_t>& devices) {
  return join(devices, ", ", [](const auto& device) {
    return (device.second == 1 ? "" : fmt::format("{} x ", device.second)) + device.first;
  });
}

void add_steps(std::span<const Pace> paces, Section& section) {
  Pace all;
  for (const Pace& pace : paces) all.join(pace);
  if (all.steps <= 1) return;
  const bool is_one = all.processes == 1;
  section.add_fact({"steps",
                    is_one        ? "Steps"
                    : all.as_many ? "Steps of each process"
                                  : "Steps, most of a process",
                    Kind::kInteger, all.steps});
  section.add_fact({"warm_up_steps", "Warm-up steps, left out", Kind::kInteger, all.warm_up});
  const std::string of = is_one ? "" : ", slowest process";
  if (all.host_runs_ahead) {
    section.add_fact({"step_pace_ns", "Mean step, as the host runs ahead of the GPU" + of,
                      Kind::kTime, all.step_ns});
  } else {
    section.add_fact({"step_median_ns", "Median step" + of, Kind::kTime, all.step_ns});
  }
}

void add_header(const Overview& overview, std::span<const Pace> paces, Section& section) {
  if (overview.wall_ns == 0) return;
  const bool has_gpus = !overview.devices.empty();
  const auto share = [](int64_t part, int64_t whole) { return percent_of(part, whole); };
  // To look for a GPU takes some time in its driver, too.
  const bool uses_gpu = overview.driver_ns > overview.cpu_ns / 20;
  section.add_fact({"device", "Device", Kind::kText,
                    has_gpus   ? devices_text(overview.devices)
                    : uses_gpu ? "a GPU whose operations are not in the file"
                               : "CPU only"});
  if (!overview.hardly_used.empty()) {
    section.add_fact(
        {"hardly_used", "Hardly used, left out below", Kind::kText, overview.hardly_used});
  }
  section.add_fact({"wall_ns", "Wall time", Kind::kTime, overview.wall_ns});
  if (has_gpus) {
    section.add_fact(
        {"before_gpu_ns", "Before the first GPU operation", Kind::kTime, overview.before_ns});
  }
  if (!has_gpus && overview.cpu_ns != 0) {
    section.add_fact({"cpu_ns", "CPU time, of all threads", Kind::kTime, overview.cpu_ns});
    section.add_fact(
        {"cores", "Cores busy on average", Kind::kReal,
         static_cast<double>(overview.cpu_ns) / static_cast<double>(overview.wall_ns)});
  }
  if (overview.import_ns != 0) {
    section.add_fact({"import_ns", "CPU time of imports", Kind::kTime, overview.import_ns});
  }
  add_steps(paces, section);
  if (!has_gpus) return;
  section.add_fact({"gpu_busy_percentage", "GPU busy, of wall time", Kind::kPercent,
                    share(overview.busy_of_wall_ns, overview.gpu_wall_ns)});
  const std::string after = overview.has_warm_up ? " after the warm-up" : "";
  section.add_fact({"work_busy_percentage", "GPU busy, first to last operation" + after,
                    Kind::kPercent, share(overview.busy_ns, overview.work_ns)});
  section.add_fact({"communication_percentage", "Communication", Kind::kPercent,
                    share(overview.communication_ns, overview.work_ns)});
  if (overview.communication_ns == 0) return;
  section.add_fact({"exposed_communication_percentage", "Exposed communication", Kind::kPercent,
                    share(overview.exposed_ns, overview.work_ns)});
}

// The findings may be about a small part of the program's time.
std::string outside_text(const Overview& overview) {
  if (overview.work_ns == 0 || overview.work_ns * 2 >= overview.gpu_wall_ns) return "";
  const auto part =
      static_cast<double>(overview.work_ns) / static_cast<double>(overview.gpu_wall_ns);
  return fmt::format(
      "the findings are about the time from the first GPU operation to the last{}, {:.1f} % of the "
      "program's {}: sonde idle shows what the host did before and after",
      overview.has_warm_up ? ", without the warm-up" : "", 100 * part, time_text(overview.wall_ns));
}

// Clocks of machines may be far apart in a merged file.
std::string machines_text(const trace::Trace& trace, int64_t wall_ns) {
  constexpr int64_t kOfWall = 100, kLeastNs = 10'000'000;  // are worth a word
  const std::vector<int64_t> offsets = clock_offsets(trace);
  if (offsets.size() < 2) return "";
  const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
  if (*most - *least < std::max(kLeastNs, wall_ns / kOfWall)) return "";
  return fmt::format(
      "the clocks of the ranks differ by {}, as the ends of their collectives show: wall time, and "
      "what the program did before and after the GPUs' work, are wrong by as much. Give sonde check "
      "the files of the ranks, not one merged from them",
      time_text(*most - *least));
}

// Names also the causes that cost little, for readers who look for one.
std::string left_out_text(std::span<const Finding> findings) {
  std::string text = "too small to list, with what they could save:";
  for (const Finding& finding : findings) {
    text += fmt::format("{} {} {:.1f} %", &finding == &findings.front() ? "" : ",", finding.id,
                        finding.saving_percentage());
  }
  return text + " (--least 0 lists all)";
}

}  // namespace

report::Report findings_report(std::span<const trace::Trace> traces, std::span<const Pace> paces,
                               std::span<const Finding> findings,
                               std::span<const Finding> left_out) {
  report::Report report = begin_report("check", traces.front());
  const auto any = [&](auto has) { return std::any_of(traces.begin(), traces.end(), has); };
  const bool has_ops = any([](const auto& one) { return one.ops.size() != 0; });
  const bool has_work = has_ops || any([](const auto& one) {
                          return one.apis.size() != 0 || one.samples.size() != 0;
                        });
  Section section{
      .key = "check",
      .empty_text = has_work ? "Nothing stands out."
                             : "No device operations, calls or samples: nothing can be said about "
                               "where the time went."};
  const Overview overview = overview_of(traces, paces);
  add_header(overview, paces, section);
  section.table.add_columns({text("finding", "Finding"), time("saving_ns", "Could save"),
                             percent("saving_percentage", "Share"), time("cost_ns", "Of"),
                             text("title", "What")});
  section.table.columns.back().priority = 1;
  for (const Finding& finding : findings) {
    const bool is_known = finding.saving_ns != 0;
    section.table.add_row({finding.id, is_known ? Value(finding.saving_ns) : Value(),
                           is_known ? Value(finding.saving_percentage()) : Value(), finding.cost_ns,
                           finding.title});
    section.remarks.push_back(finding.id + ": " + finding.evidence + ". " + finding.advice);
  }
  report.sections.push_back(std::move(section));
  for (size_t i = 1; i < traces.size(); ++i) {
    report.subject += ", " + traces[i].path;
    for (const std::string& warning : traces[i].warnings) report.warnings.push_back(warning);
  }
  if (!left_out.empty()) report.notes.push_back(left_out_text(left_out));
  // Wall time and steps are by file.
  RecordedRanks(traces).tell(", and counted once; wall time and steps are those of one recording",
                             report);
  std::vector<std::string> notes = {outside_text(overview)};
  for (const trace::Trace& trace : traces) {
    notes.push_back(machines_text(trace, overview.wall_ns));
    notes.push_back(clocks_text(trace));
  }
  for (std::string& note : notes) {
    if (!note.empty()) report.notes.push_back(std::move(note));
  }
  std::string waits = cpu_wait_text(overview.cpu_time, overview.wall_ns);
  if (!waits.empty()) report.notes.push_back(std::move(waits));
  if (!has_ops && has_work) {
    report.notes.push_back("no device operations: the findings are about CPU time");
    std::string few = few_samples_text(traces.front());
    if (!few.empty()) report.notes.push_back(std::move(few));
    const bool looked = any([](const auto& one) { return one.blocked.size() != 0; });
    const int64_t ready_ns = overview.cpu_ns + overview.cpu_time.waited_ns;
    if (!looked && overview.cpu_ns > 0 && ready_ns < overview.wall_ns / 2) {
      report.notes.push_back(
          "the program waited most of the time: sonde record --sample-clock wall shows for what");
    }
  }
  return report;
}

}  // namespace sonde::analysis
