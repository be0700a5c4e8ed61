#include "watch/job_card.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace sonde::watch {

namespace {

using report::Kind;
using report::Value;

constexpr double kIdlePercent = 1;     // a GPU whose mean use is below this was idle
constexpr double kJoulesPerWh = 3600;  // W x s
// The share of a GPU's time that may lack power samples without a remark.
constexpr double kMostGapShare = 0.05;

// One figure of one GPU, weighted by time.
struct Course {
  double integral =
      0;  // value x nanoseconds: whole numbers, so that a constant's mean is the constant
  double ns = 0;
  double most = 0;

  std::optional<double> mean() const {
    if (ns <= 0) return std::nullopt;
    return integral / ns;
  }
};

struct GpuCard {
  std::map<JobFigure, Course> courses;
  int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;

  double seconds() const { return static_cast<double>(end_ns - begin_ns) / 1e9; }
};

// Sums up each figure over time. Where samples of a figure overlap, the earlier one counts.
std::vector<GpuCard> cards_of(const Job& job) {
  std::vector<JobSample> samples = job.samples;
  std::sort(samples.begin(), samples.end(), [](const JobSample& a, const JobSample& b) {
    return std::tuple(a.gpu, a.figure, a.start_ns, a.end_ns) <
           std::tuple(b.gpu, b.figure, b.start_ns, b.end_ns);
  });
  std::vector<GpuCard> cards(job.gpus.size());
  int64_t reported_until = INT64_MIN;
  const JobSample* before = nullptr;
  for (const JobSample& sample : samples) {
    if (before == nullptr || before->gpu != sample.gpu || before->figure != sample.figure) {
      reported_until = INT64_MIN;
    }
    before = &sample;
    const int64_t start_ns = std::max(sample.start_ns, reported_until);
    if (sample.end_ns <= start_ns) continue;
    reported_until = sample.end_ns;
    GpuCard& card = cards[sample.gpu];
    card.begin_ns = std::min(card.begin_ns, start_ns);
    card.end_ns = std::max(card.end_ns, sample.end_ns);
    Course& course = card.courses[sample.figure];
    const auto ns = static_cast<double>(sample.end_ns - start_ns);
    course.most = course.ns > 0 ? std::max(course.most, sample.value) : sample.value;
    course.integral += sample.value * ns;
    course.ns += ns;
  }
  return cards;
}

std::string name_of(const JobGpu& gpu) {
  return gpu.node.empty() ? fmt::format("GPU {}", gpu.id)
                          : fmt::format("GPU {} of {}", gpu.id, gpu.node);
}

std::string list_of(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

report::Table table_of(const Job& job, std::vector<GpuCard>& cards) {
  using namespace report::columns;
  report::Table table;
  table.add_columns({text("node", "Node"), id("gpu", "GPU"), percent("busy_mean", "Busy"),
                     percent("busy_max", "Busy max"), bytes("memory_max_bytes", "Memory max"),
                     real("power_mean_w", "Power W"), real("power_max_w", "Power max W"),
                     real("temperature_max_c", "Hottest C"), real("energy_wh", "Energy Wh"),
                     time("told_ns", "Watched")});
  for (size_t i = 0; i < cards.size(); ++i) {
    auto& courses = cards[i].courses;
    const auto mean = [&](JobFigure figure) {
      const auto value = courses[figure].mean();
      return value ? Value(*value) : Value();
    };
    const auto most = [&](JobFigure figure) {
      return courses[figure].ns > 0 ? Value(courses[figure].most) : Value();
    };
    const Course& memory = courses[JobFigure::kMemory];
    const Course& power = courses[JobFigure::kPower];
    const bool is_told = cards[i].end_ns > cards[i].begin_ns;
    table.add_row({job.gpus[i].node.empty() ? Value() : Value(job.gpus[i].node), job.gpus[i].id,
                   mean(JobFigure::kBusy), most(JobFigure::kBusy),
                   memory.ns > 0 ? Value(static_cast<int64_t>(memory.most)) : Value(),
                   mean(JobFigure::kPower), most(JobFigure::kPower), most(JobFigure::kTemperature),
                   power.ns > 0 ? Value(power.integral / 1e9 / kJoulesPerWh) : Value(),
                   is_told ? Value(cards[i].end_ns - cards[i].begin_ns) : Value()});
  }
  return table;
}

// Remarks on what the sums lack, and on idle GPUs.
void add_remarks(const Job& job, std::vector<GpuCard>& cards, report::Section& section) {
  std::vector<std::string> idle, without_power, partly;
  for (size_t i = 0; i < cards.size(); ++i) {
    auto& courses = cards[i].courses;
    const auto busy = courses[JobFigure::kBusy].mean();
    if (busy && *busy < kIdlePercent) idle.push_back(name_of(job.gpus[i]));
    const double told = courses[JobFigure::kPower].ns / 1e9;
    if (told <= 0) {
      without_power.push_back(name_of(job.gpus[i]));
    } else if (told < cards[i].seconds() * (1 - kMostGapShare)) {
      partly.push_back(
          fmt::format("{} ({:.0f} %)", name_of(job.gpus[i]), told / cards[i].seconds() * 100));
    }
  }
  if (!idle.empty()) {
    section.remarks.push_back(
        fmt::format("Idle, less than {} % busy on average: {}.", kIdlePercent, list_of(idle)));
  }
  if (!without_power.empty()) {
    section.remarks.push_back(
        fmt::format("Energy excludes that of {}: no power was reported.", list_of(without_power)));
  }
  if (!partly.empty()) {
    section.remarks.push_back(fmt::format(
        "Power was reported only part of the time, and energy covers only that part: {}.",
        list_of(partly)));
  }
}

void add_facts(const Job& job, std::vector<GpuCard>& cards, report::Section& section) {
  double joules = 0, busy = 0, busy_ns = 0;
  bool has_power = false;
  int64_t longest_ns = 0, idle = 0;
  std::map<std::string, int> nodes;
  for (size_t i = 0; i < cards.size(); ++i) {
    const Course& power = cards[i].courses[JobFigure::kPower];
    const Course& of_busy = cards[i].courses[JobFigure::kBusy];
    has_power |= power.ns > 0;
    joules += power.integral / 1e9;
    busy += of_busy.integral;
    busy_ns += of_busy.ns;
    idle += of_busy.mean() && *of_busy.mean() < kIdlePercent ? 1 : 0;
    if (cards[i].end_ns > cards[i].begin_ns) {
      longest_ns = std::max(longest_ns, cards[i].end_ns - cards[i].begin_ns);
    }
    ++nodes[job.gpus[i].node];
  }
  if (!job.id.empty()) section.add_fact({"job", "Job", Kind::kText, job.id});
  section.add_fact({"duration_ns", "Duration", Kind::kTime, longest_ns});
  section.add_fact({"nodes", "Nodes", Kind::kInteger, static_cast<int64_t>(nodes.size())});
  section.add_fact({"gpus", "GPUs", Kind::kInteger, static_cast<int64_t>(cards.size())});
  section.add_fact({"idle_gpus", "Idle GPUs", Kind::kInteger, idle});
  section.add_fact(
      {"busy_mean", "Busy", Kind::kPercent, busy_ns > 0 ? Value(busy / busy_ns) : Value()});
  section.add_fact({"energy_wh", "Energy in Wh", Kind::kReal,
                    has_power ? Value(joules / kJoulesPerWh) : Value()});
  section.add_fact({"energy_kwh", "Energy in kWh", Kind::kReal,
                    has_power ? Value(joules / kJoulesPerWh / 1000) : Value()});
}

}  // namespace

report::Report job_report(const Job& job) {
  report::Report report;
  report.name = "job-report";
  report::Section section{.key = "gpus",
                          .empty_text =
                              "No GPU metrics: sonde record takes them if the driver reports them, "
                              "unless --metrics leaves them out."};
  std::vector<GpuCard> cards = cards_of(job);
  if (!cards.empty()) add_facts(job, cards, section);
  section.table = table_of(job, cards);
  add_remarks(job, cards, section);
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace sonde::watch
