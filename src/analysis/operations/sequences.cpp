#include <algorithm>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/operations/queue_kernels.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

struct Limits {
  size_t length = 0, count = 0;
  int64_t gap_ns = 0, short_ns = 0;
};

// Kernels that ran one after the other, all queues in one list. A run ends where the queue does or
// where the next kernel comes too late.
struct Runs {
  std::vector<size_t> ops;
  std::vector<uint32_t> left;  // how many kernels of the run there are from here on, this included
};

Runs find_runs(const trace::Trace& trace, int64_t gap_ns) {
  Runs runs;
  for (const std::vector<size_t>& queue : kernels_of_queues(trace)) {
    const size_t begin = runs.ops.size();
    runs.ops.insert(runs.ops.end(), queue.begin(), queue.end());
    runs.left.resize(runs.ops.size(), 1);
    for (size_t i = runs.ops.size(); i-- > begin + 1;) {
      const int64_t gap = trace.ops.start_ns[runs.ops[i]] - trace.ops.end_ns[runs.ops[i - 1]];
      if (gap <= gap_ns) runs.left[i - 1] = runs.left[i] + 1;
    }
  }
  return runs;
}

struct Sequence {
  size_t length = 0;
  std::vector<uint32_t> at;  // where it begins in Runs::ops; these do not overlap
  size_t saved() const { return at.size() * (length - 1); }  // launches, if it were one kernel
};

// All sequences that come often enough. A sequence of n names is numbered by the number of its
// first n - 1 and its last name, so that equal numbers are equal sequences.
std::vector<Sequence> find_sequences(const trace::Trace& trace, const Runs& runs,
                                     const Limits& limits) {
  constexpr uint32_t kGone = ~uint32_t{0};
  std::vector<uint32_t> number;
  for (const size_t op : runs.ops) number.push_back(trace.label(op));
  std::vector<Sequence> found;
  for (size_t length = 2; length <= limits.length; ++length) {
    std::unordered_map<uint64_t, uint32_t> numbers;
    std::vector<Sequence> sequences;
    for (size_t i = 0; i < number.size(); ++i) {
      if (runs.left[i] < length || number[i] == kGone) {
        number[i] = kGone;
        continue;
      }
      const trace::NameId last = trace.label(runs.ops[i + length - 1]);
      const auto [entry, is_new] = numbers.try_emplace(uint64_t{number[i]} << 32 | last,
                                                       static_cast<uint32_t>(sequences.size()));
      if (is_new) sequences.push_back({length, {}});
      number[i] = entry->second;
      std::vector<uint32_t>& at = sequences[entry->second].at;
      if (at.empty() || at.back() + length <= i) at.push_back(static_cast<uint32_t>(i));
    }
    // What is not frequent is in no frequent sequence either.
    for (uint32_t& one : number) {
      if (one != kGone && sequences[one].at.size() < limits.count) one = kGone;
    }
    for (Sequence& sequence : sequences) {
      if (sequence.at.size() >= limits.count) found.push_back(std::move(sequence));
    }
  }
  return found;
}

// The best first; of what is left only what shares no kernel with a better one, so that every
// kernel is in one sequence at most.
std::vector<Sequence> choose(std::vector<Sequence> found, size_t ops, size_t least) {
  std::stable_sort(found.begin(), found.end(), [](const Sequence& a, const Sequence& b) {
    if (a.saved() != b.saved()) return a.saved() > b.saved();
    return a.length != b.length ? a.length > b.length : a.at.front() < b.at.front();
  });
  std::vector<bool> taken(ops, false);
  std::vector<Sequence> chosen;
  for (Sequence& sequence : found) {
    std::erase_if(sequence.at, [&](uint32_t at) {
      return taken[at] || taken[at + sequence.length - 1] ||
             std::find(taken.begin() + at, taken.begin() + at + sequence.length, true) !=
                 taken.begin() + at + static_cast<std::ptrdiff_t>(sequence.length);
    });
    if (sequence.at.size() < least) continue;
    for (const uint32_t at : sequence.at) {
      std::fill_n(taken.begin() + at, sequence.length, true);
    }
    chosen.push_back(std::move(sequence));
  }
  return chosen;
}

struct Times {
  int64_t total_ns = 0, gaps_ns = 0;
  bool fusable = true;  // all kernels compute, and short on average
};

Times times_of(const trace::Trace& trace, const Runs& runs, const Sequence& sequence,
               int64_t short_ns) {
  Times times;
  for (size_t k = 0; k < sequence.length; ++k) {
    int64_t sum_ns = 0;
    for (const uint32_t at : sequence.at) {
      const size_t op = runs.ops[at + k];
      sum_ns += trace.op_ns(op);
      times.fusable &= trace.ops.category[op] == trace::Category::kCompute;
      if (k == 0) continue;
      const int64_t gap = trace.ops.start_ns[op] - trace.ops.end_ns[runs.ops[at + k - 1]];
      times.gaps_ns += std::max<int64_t>(gap, 0);
    }
    times.total_ns += sum_ns;
    times.fusable &= sum_ns < short_ns * static_cast<int64_t>(sequence.at.size());
  }
  return times;
}

std::vector<trace::NameId> names_of(const trace::Trace& trace, const Runs& runs,
                                    const Sequence& sequence) {
  std::vector<trace::NameId> names;
  for (size_t k = 0; k < sequence.length; ++k) {
    names.push_back(trace.label(runs.ops[sequence.at.front() + k]));
  }
  return names;
}

report::Section names_section(const trace::Trace& trace, const Runs& runs,
                              const std::vector<Sequence>& chosen) {
  report::Section section{.key = "names", .title = "The kernels of each sequence"};
  section.table.add_columns({id("sequence", "#"), name("name", "Name")});
  for (size_t i = 0; i < chosen.size(); ++i) {
    for (const trace::NameId name : names_of(trace, runs, chosen[i])) {
      section.table.add_row({static_cast<int64_t>(i + 1), trace.names[name]});
    }
  }
  return section;
}

Result<Limits> limits_of(const Parameters& parameters) {
  Limits limits;
  SONDE_ASSIGN(const int64_t length, parameters.count("length"));
  SONDE_ASSIGN(const int64_t count, parameters.count("count"));
  SONDE_ASSIGN(limits.gap_ns, parameters.duration_ns("gap"));
  SONDE_ASSIGN(limits.short_ns, parameters.duration_ns("short"));
  limits.length = static_cast<size_t>(std::clamp<int64_t>(length, 2, 64));
  limits.count = static_cast<size_t>(std::max<int64_t>(count, 2));
  return limits;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  SONDE_ASSIGN(const Limits limits, limits_of(parameters));
  report::Report report = begin_report("sequences", trace);
  const Runs runs = find_runs(trace, limits.gap_ns);
  report::Section section{
      .key = "sequences",
      .empty_text = runs.ops.empty() ? "No kernels." : "No kernels follow each other that often."};
  report::Table& table = section.table;
  table.add_columns({id("sequence", "#"), text("kernels", "Kernels"), integer("length", "Length"),
                     integer("count", "Count"), time("total_ns", "Total"), time("gaps_ns", "Gaps"),
                     integer("launches_saved", "Launches saved"), text("fusion", "Fusion")});
  const auto chosen = choose(find_sequences(trace, runs, limits), runs.ops.size(), limits.count);
  const KernelNames names(trace);
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Sequence& sequence = chosen[i];
    const Times times = times_of(trace, runs, sequence, limits.short_ns);
    table.add_row({static_cast<int64_t>(i + 1), names.joined(names_of(trace, runs, sequence)),
                   static_cast<int64_t>(sequence.length), static_cast<int64_t>(sequence.at.size()),
                   times.total_ns, times.gaps_ns, static_cast<int64_t>(sequence.saved()),
                   times.fusable ? "candidate" : "-"});
  }
  report.sections.push_back(std::move(section));
  if (parameters.flag("names")) report.sections.push_back(names_section(trace, runs, chosen));
  return report;
}

constexpr const char* kDefinition =
    "sequences: kernels that repeatedly follow each other on a queue. A sequence has 2 to "
    "--length kernels, each of which begins at most --gap after the end of the one before; it "
    "counts if it occurs at least --count times without overlapping itself. The sequence that "
    "would save most launches as one kernel (Count x (Length - 1)) comes first, then the next of "
    "those that share no kernel with it, and so on: every kernel is in at most one row.\n\n"
    "Total adds up the kernels, Gaps the time between them on their queue. A candidate for fusion "
    "has only kernels of compute, each of which takes less than --short on average.\n";

}  // namespace

Analysis sequences_analysis() {
  return {
      "sequences",
      "Find sequences of kernels that repeat",
      "Shows frequent sequences of kernels, how much time they take and leave unused, and which "
      "kernels are so short that fusing them would pay.",
      kDefinition,
      {{"sonde sequences trace.rpd", "the sequences that cost most launches first"},
       {"sonde sequences trace.rpd --length 3 --sort gaps",
        "short sequences, by the time between kernels"}},
      {{"length", "N", "longest sequence to look for", "5"},
       {"count", "N", "how often a sequence must occur", "3"},
       {"gap", "TIME", "a longer gap ends a sequence", "100us"},
       {"names", "", "also list the kernels of each sequence, with full names", ""},
       {"short", "TIME", "longer kernels are not candidates for fusion", "10us"}},
      [](const Parameters&) { return trace::Request{.ops = true}; },
      run};
}

}  // namespace sonde::analysis
