// wall_clock.txt and wall_clock.json (docs/exports.md), in a new folder: the profile by call path
// that ROCm Systems Profiler and other programs built on timemory write, for scripts that read it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/strings.h"
#include "base/value_or.h"
#include "export/exporter.h"
#include "export/output/json_text.h"
#include "export/output/new_folder.h"
#include "export/output/sink.h"
#include "export/stacks/call_paths.h"

namespace sonde::exporting {

namespace {

constexpr double kUnitNs = 1e9;       // "sec"
constexpr size_t kWidestLabel = 120;  // of the text; the JSON file has it whole
constexpr const char* kTitle = "REAL-CLOCK TIMER (I.E. WALL-CLOCK TIMER)";
const char* const kHeads[] = {"LABEL", "COUNT", "DEPTH", "METRIC", "UNITS",  "SUM",
                              "MEAN",  "MIN",   "MAX",   "VAR",    "STDDEV", "% SELF"};
constexpr size_t kColumns = std::size(kHeads);

double seconds(int64_t ns) { return static_cast<double>(ns) / kUnitNs; }

// A path with the number of its thread in its process, and what its row is called.
struct Row {
  const CallPath* path;
  int64_t pid, rank;
  uint32_t thread;
};

double mean_of(const Statistics& figures) {
  return figures.calls == 0 ? 0 : seconds(figures.total_ns) / static_cast<double>(figures.calls);
}
double self_percent(const CallPath& path) {
  return path.inclusive.total_ns == 0 ? 0
                                      : 100.0 * static_cast<double>(path.exclusive.total_ns) /
                                            static_cast<double>(path.inclusive.total_ns);
}

std::string name_of(const CallPath& path) {
  std::string name = valid_utf8(path.name);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return name;
}

// "|00>>> |_solve", two spaces a level; with the rank in front where there is one.
std::string label_of(const Row& row) {
  std::string label = row.rank >= 0 ? fmt::format("|{:02}|{:02}>>> ", row.rank, row.thread)
                                    : fmt::format("|{:02}>>> ", row.thread);
  if (row.path->depth > 0) label += std::string(2 * (row.path->depth - 1), ' ') + "|_";
  return label + name_of(*row.path);
}

std::vector<Row> rows_of(const Events& events, const std::vector<CallPath>& paths) {
  std::map<int64_t, int64_t> rank_of;
  for (const Process& process : events.processes) rank_of[process.pid] = process.rank;
  std::map<int64_t, std::map<uint32_t, uint32_t>> numbers;  // by pid and thread
  std::vector<Row> rows;
  for (const CallPath& path : paths) {
    const int64_t pid = events.threads[path.thread].pid;
    auto& of_process = numbers[pid];
    const auto number = of_process.try_emplace(path.thread, of_process.size()).first->second;
    rows.push_back({&path, pid, value_or(rank_of, pid, -1), number});
  }
  return rows;
}

std::string cut(const std::string& label) {
  if (label.size() <= kWidestLabel || display_width(label) <= kWidestLabel) return label;
  size_t end = 0;
  for (size_t next = 0; next < label.size();) {
    do ++next;
    while (next < label.size() && (label[next] & 0xC0) == 0x80);
    if (display_width(std::string_view(label).substr(0, next)) > kWidestLabel - 3) break;
    end = next;
  }
  return label.substr(0, end) + "...";
}

std::string centred(const std::string& text, size_t width) {
  const size_t before = (width - text.size()) / 2;
  return std::string(before, ' ') + text + std::string(width - text.size() - before, ' ');
}

Status write_text(const std::vector<Row>& rows, const std::string& path) {
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    const Statistics& figures = row.path->inclusive;
    const double deviation = figures.deviation_ns() / kUnitNs;
    cells.push_back(
        {cut(label_of(row)), fmt::format("{}", figures.calls), fmt::format("{}", row.path->depth),
         "wall_clock", "sec", fmt::format("{:.6f}", seconds(figures.total_ns)),
         fmt::format("{:.6f}", mean_of(figures)), fmt::format("{:.6f}", seconds(figures.min_ns)),
         fmt::format("{:.6f}", seconds(figures.max_ns)),
         fmt::format("{:.6f}", deviation * deviation), fmt::format("{:.6f}", deviation),
         fmt::format("{:.1f}", self_percent(*row.path))});
  }
  size_t widths[kColumns], whole = kColumns - 1;
  for (size_t c = 0; c < kColumns; ++c) {
    widths[c] = std::string_view(kHeads[c]).size();
    for (const auto& row : cells) widths[c] = std::max(widths[c], display_width(row[c]));
    whole += widths[c] + 2;
  }
  SONDE_ASSIGN(Sink sink, Sink::create(path, Sink::Encoding::kPlain));
  const std::string rule = "|" + std::string(whole, '-') + "|\n";
  sink.append(rule + "|" + centred(kTitle, whole) + "|\n" + rule + "|");
  for (size_t c = 0; c < kColumns; ++c) sink.append(" " + centred(kHeads[c], widths[c]) + " |");
  sink.append("\n|");
  for (const size_t width : widths) sink.append(std::string(width + 2, '-') + "|");
  sink.append("\n");
  for (const auto& row : cells) {
    sink.append("|");
    for (size_t c = 0; c < kColumns; ++c) {
      const std::string room(widths[c] - display_width(row[c]), ' ');
      sink.append(c == 0 ? " " + row[c] + room + " |" : " " + room + row[c] + " |");
    }
    sink.append("\n");
  }
  sink.append(rule);
  return sink.finish();
}

// The hash of a name, never 0, which is the root's; a path's is made of those of its names.
uint64_t hash_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001b3;
  return hash | 1;
}

class JsonWriter {
 public:
  JsonWriter(const std::vector<Row>& rows, Sink& sink) : rows_(rows), sink_(sink) {}

  void write() {
    std::map<int64_t, RowsByProcess> by_rank;
    std::map<std::pair<int64_t, uint32_t>, int> threads;
    std::map<int64_t, int> processes;
    bool has_ranks = false;
    for (const Row& row : rows_) {
      by_rank[std::max<int64_t>(row.rank, 0)][row.pid].push_back(&row);
      threads[{row.rank, row.path->thread}] = processes[row.pid] = 1;
      has_ranks = has_ranks || row.rank >= 0;
    }
    sink_.append(fmt::format(
        R"({{"timemory":{{"wall_clock":{{"properties":{{"value":"wall_clock","id":"wall_clock"}},)"
        R"x("type":"wall_clock","description":"Real-clock timer (i.e. wall-clock timer)",)x"
        R"("unit_value":{:.0f},"unit_repr":"sec","thread_scope_only":false,"thread_count":{},)"
        R"("process_count":{},"mpi_size":{},"upcxx_size":1,"concurrency":{},"num_ranks":{},)"
        R"("ranks":[)",
        kUnitNs, threads.size(), processes.size(), has_ranks ? by_rank.size() : 1, threads.size(),
        by_rank.size()));
    list(by_rank, [&](const auto& rank) { flat(rank.first); });
    // Where timemory knows of ranks, it calls the trees so.
    sink_.append(fmt::format("],\n\"{}\":[", has_ranks ? "mpi" : "graph"));
    list(by_rank, [&](const auto& rank) {
      sink_.append("[");
      list(rank.second, [&](const auto& process) { tree(process.first, process.second); });
      sink_.append("]");
    });
    sink_.append("]}}}\n");
  }

 private:
  using RowsByProcess = std::map<int64_t, std::vector<const Row*>>;

  template <typename Container, typename Function>
  void list(const Container& container, Function&& write_one) {
    bool first = true;
    for (const auto& one : container) {
      sink_.append(first ? "\n" : ",\n");
      first = false;
      write_one(one);
    }
  }

  void flat(int64_t rank) {
    std::vector<const Row*> rows;
    for (const Row& row : rows_) {
      if (std::max<int64_t>(row.rank, 0) == rank) rows.push_back(&row);
    }
    sink_.append(fmt::format("{{\"rank\":{},\"graph_size\":{},\"graph\":[", rank, rows.size()));
    list(rows, [&](const Row* row) { entry(*row); });
    sink_.append("]}");
  }

  void entry(const Row& row) {
    std::vector<uint64_t>& path = path_hashes_;  // of the path that the row before was on
    path.resize(row.path->depth);
    const uint64_t hash = hash_of(row.path->name);
    path.push_back((path.empty() ? 0 : path.back()) + hash);
    sink_.append(fmt::format(R"({{"hash":{},"prefix":)", hash));
    append_json_string(sink_, label_of(row), scratch_);
    sink_.append(fmt::format(R"(,"depth":{},)", row.path->depth));
    figures(row.path->inclusive);
    sink_.append(fmt::format(R"(,"rolling_hash":{}}})", path.back()));
  }

  // The paths of one process below a root that stands for nothing.
  void tree(int64_t pid, const std::vector<const Row*>& rows) {
    sink_.append(
        fmt::format(R"({{"node":{{"hash":0,"prefix":"unknown-hash=0","tid":[0],"pid":[{}],)"
                    R"("depth":-1,"is_dummy":true,"inclusive":{{)",
                    pid));
    figures({});
    sink_.append(R"(},"exclusive":{)");
    figures({});
    sink_.append(R"(}},"children":[)");
    uint32_t open = 0;
    for (const Row* row : rows) {
      const uint32_t depth = row->path->depth;
      if (open > depth) {
        for (; open > depth; --open) sink_.append("]}");
        sink_.append(",");
      }
      sink_.append("\n");
      node(*row);
      ++open;
    }
    for (; open > 0; --open) sink_.append("]}");
    sink_.append("]}");
  }

  // All but the end of its children.
  void node(const Row& row) {
    const CallPath& path = *row.path;
    sink_.append(fmt::format(R"({{"node":{{"hash":{},"prefix":)", hash_of(path.name)));
    append_json_string(sink_, name_of(path), scratch_);
    sink_.append(fmt::format(R"(,"tid":[{}],"pid":[{}],"depth":{},"is_dummy":false,"inclusive":{{)",
                             row.thread, row.pid, path.depth));
    figures(path.inclusive);
    sink_.append(R"(},"exclusive":{)");
    figures(path.exclusive);
    sink_.append(R"(}},"children":[)");
  }

  void figures(const Statistics& of) {
    const double mean = mean_of(of);
    // The sum of the squares, from the mean and the sum of squared deviations.
    const double squares =
        of.squares / (kUnitNs * kUnitNs) + mean * mean * static_cast<double>(of.calls);
    sink_.append(fmt::format(
        R"("entry":{{"laps":{0},"value":{1},"accum":{1},"repr_data":{2},"repr_display":{2}}},)"
        R"("stats":{{"sum":{2},"count":{0},"min":{3},"max":{4},"sqr":{5},"mean":{6},"stddev":{7}}})",
        of.calls, of.total_ns, seconds(of.total_ns), of.calls == 0 ? 0 : seconds(of.min_ns),
        seconds(of.max_ns), squares, mean, of.deviation_ns() / kUnitNs));
  }

  const std::vector<Row>& rows_;
  Sink& sink_;
  std::string scratch_;
  std::vector<uint64_t> path_hashes_;
};

Result<Counts> write_wall_clock(store::Reader& reader, const std::string& path,
                                const Options& options) {
  SONDE_ASSIGN(const Events events, load_events(reader, options));
  SONDE_ASSIGN(NewFolder folder, NewFolder::create(path));
  const std::vector<CallPath> paths = call_paths_of(events);
  const std::vector<Row> rows = rows_of(events, paths);
  SONDE_TRY(write_text(rows, path + "/wall_clock.txt"));
  SONDE_ASSIGN(Sink sink, Sink::create(path + "/wall_clock.json", Sink::Encoding::kPlain));
  JsonWriter(rows, sink).write();
  SONDE_TRY(sink.finish());
  folder.keep();
  Counts counts;
  counts.apis = events.api_count();
  counts.skipped = events.skipped + events.samples.size() + events.ops.size();
  return counts;
}

}  // namespace

Exporter wall_clock_exporter() {
  return {"wall-clock",
          "a folder with wall_clock.txt and .json: calls by call path, as timemory writes them",
          {".wall_clock"},
          write_wall_clock,
          true};
}

}  // namespace sonde::exporting
