#include "analysis/recorded_ranks.h"

#include <algorithm>
#include <limits>
#include <set>

namespace sonde::analysis {
namespace {

using trace::Interval;
using trace::kNone;
using Place = RecordedRanks::Place;

constexpr int64_t kPidsOfFile = 10'000'000;  // as trace::file_of() has it

struct Work {
  Interval time = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  bool has_ops = false;
  void take_in(int64_t start_ns, int64_t end_ns) {
    time.start_ns = std::min(time.start_ns, start_ns);
    time.end_ns = std::max(time.end_ns, end_ns);
  }
};

const trace::Process& process_at(std::span<const trace::Trace> traces, Place place) {
  return traces[place.first].processes[static_cast<size_t>(place.second)];
}

// The file, also if it is merged into another.
std::pair<size_t, int64_t> file_at(std::span<const trace::Trace> traces, Place place) {
  return {place.first, trace::file_of(process_at(traces, place).pid)};
}

// The processes of ranks that are in several files, by rank and the number that they had there.
std::map<std::pair<int64_t, int64_t>, std::vector<Place>> repeated(
    std::span<const trace::Trace> traces) {
  std::map<int64_t, std::set<std::pair<size_t, int64_t>>> files;  // by rank
  std::map<std::pair<int64_t, int64_t>, std::vector<Place>> places;
  for (size_t file = 0; file < traces.size(); ++file) {
    for (size_t i = 0; i < traces[file].processes.size(); ++i) {
      const Place place = {file, static_cast<int32_t>(i)};
      const trace::Process& process = process_at(traces, place);
      if (!process.rank) continue;
      files[*process.rank].insert(file_at(traces, place));
      places[{*process.rank, process.pid % kPidsOfFile}].push_back(place);
    }
  }
  std::erase_if(places, [&](const auto& one) { return files[one.first.first].size() < 2; });
  return places;
}

// When each process of a file did something.
std::vector<Work> work_in(const trace::Trace& trace) {
  std::vector<Work> work(trace.processes.size());
  for (size_t i = 0; i < trace.ops.process.size(); ++i) {
    if (trace.ops.process[i] == kNone) continue;
    Work& one = work[static_cast<size_t>(trace.ops.process[i])];
    one.take_in(trace.ops.start_ns[i], trace.ops.end_ns[i]);
    one.has_ops = true;
  }
  for (size_t i = 0; i < trace.apis.thread.size(); ++i) {
    const int32_t process = trace.threads[trace.apis.thread[i]].process;
    if (process == kNone) continue;
    work[static_cast<size_t>(process)].take_in(trace.apis.start_ns[i], trace.apis.end_ns[i]);
  }
  return work;
}

std::string names_of(const std::vector<int64_t>& ranks) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i == kMost) return text + " ...";
    text += (i == 0 ? "rank " : ", rank ") + std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace

RecordedRanks::RecordedRanks(std::span<const trace::Trace> traces) {
  auto processes = repeated(traces);
  if (processes.empty()) return;  // which spares a look at all events
  std::vector<std::vector<Work>> work;
  for (const trace::Trace& trace : traces) work.push_back(work_in(trace));
  const auto at = [&](Place place) -> const Work& {
    return work[place.first][static_cast<size_t>(place.second)];
  };
  std::set<int64_t> joined, several;
  std::map<int64_t, std::set<std::pair<size_t, int64_t>>> files;  // with GPU work, by rank
  for (auto& [key, places] : processes) {
    std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
      return at(a).time.start_ns < at(b).time.start_ns;
    });
    const bool is_one =
        std::adjacent_find(places.begin(), places.end(), [&](const Place& a, const Place& b) {
          return at(b).time.start_ns < at(a).time.end_ns;
        }) == places.end();
    for (size_t i = 0; i < places.size(); ++i) {
      if (i != 0 && is_one) {
        joined.insert(key.first);
        first_.emplace(places[i], places.front());
      } else if (at(places[i]).has_ops) {  // helpers, as of a data loader, have the rank too
        files[key.first].insert(file_at(traces, places[i]));
        if (files[key.first].size() > 1) several.insert(key.first);
      }
    }
  }
  joined_.assign(joined.begin(), joined.end());
  several_.assign(several.begin(), several.end());
}

Place RecordedRanks::first(Place place) const {
  const auto found = first_.find(place);
  return found == first_.end() ? place : found->second;
}

void RecordedRanks::tell(const char* meaning, report::Report& report) const {
  if (!several_.empty()) {
    report.warnings.push_back(
        names_of(several_) + (several_.size() == 1 ? " was recorded" : " were recorded") +
        " several times, as other processes or at the same time: each counts as a rank of its own. "
        "Give the files of one run together");
  }
  if (joined_.empty()) return;
  report.notes.push_back(names_of(joined_) + ": recorded several times, one after the other" +
                         meaning);
}

}  // namespace sonde::analysis
