#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/stacks/stacks_view.h"
#include "analysis/totals.h"
#include "base/numbered.h"
#include "trace/frames.h"
#include "trace/group_names.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

// The frames around a call, from the innermost on: Python's that are calls themselves.
class OpenFrames {
 public:
  OpenFrames(const trace::Trace& trace, const trace::UserFrames& user)
      : trace_(trace), tree_(trace::build_op_tree(trace)), names_(trace), user_(user) {}

  std::vector<std::string> of(Row api, bool users_only) const {
    std::vector<std::string> texts;
    for (; api != kNone; api = tree_.parent[static_cast<size_t>(api)]) {
      const auto row = static_cast<size_t>(api);
      if (users_only ? user_.contains(row) : trace::is_python(trace_, row)) {
        texts.push_back(names_.text(trace_.apis.label[row]));
      }
    }
    return texts;
  }

 private:
  const trace::Trace& trace_;
  trace::OpTree tree_;
  trace::GroupNames names_;
  const trace::UserFrames& user_;
};

// The same of the stack in which a call was made.
class StackFrames {
 public:
  StackFrames(const trace::Trace& trace, const trace::NameFilter& user) : trace_(trace) {
    for (const trace::CodeFrame& code : trace.stacks.frames) {
      const std::string line = code.line != 0 ? "(" + std::to_string(code.line) + ")" : "";
      texts_.push_back(trace.names[code.file] + line + ": " + trace.names[code.function]);
      is_user_.push_back(is_user_code(trace, code, user));
    }
  }

  std::vector<std::string> of(Row api, bool users_only) const {
    std::vector<std::string> texts;
    for (int32_t at = trace_.stack_of(api); at != kNone;
         at = trace_.stacks.parent[static_cast<size_t>(at)]) {
      const uint32_t frame = trace_.stacks.frame[static_cast<size_t>(at)];
      if (!users_only || is_user_[frame]) texts.push_back(texts_[frame]);
    }
    return texts;
  }

 private:
  const trace::Trace& trace_;
  std::vector<std::string> texts_;  // by frame
  std::vector<bool> is_user_;
};

// What a row of the table is: a frame, or with --by stack all frames of the user from the
// outermost. A stack that was taken goes before the frames that were recorded.
std::string site_text(const OpenFrames& open, const StackFrames& stacks, const std::string& by,
                      Row api) {
  std::vector<std::string> frames = stacks.of(api, by != "leaf");
  if (frames.empty()) frames = open.of(api, by != "leaf");
  if (frames.empty()) return api == kNone ? "(unattributed)" : kNoUserCode;
  if (by != "stack") return frames[0];
  return fmt::format("{}", fmt::join(frames.rbegin(), frames.rend(), ";"));
}

struct Grouped {
  std::vector<std::string> texts;
  std::vector<uint32_t> group_of;  // by operation
};

template <typename TextOf>
Grouped group_sites(const trace::Trace& trace, TextOf text_of_call) {
  Grouped grouped;
  std::map<std::string, uint32_t> number_of;
  std::map<Row, uint32_t> number_of_call;  // launches of one call have one stack
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const Row api = trace.ops.api[op];
    const auto [number, is_new] = number_of_call.try_emplace(api);
    if (is_new) number->second = numbered(number_of, grouped.texts, text_of_call(api));
    grouped.group_of.push_back(number->second);
  }
  return grouped;
}

// GPU time in a flat table.
Result<report::Report> launched_by(const trace::Trace& trace, const Parameters& parameters) {
  report::Report report = begin_report("stacks", trace);
  SONDE_ASSIGN(const auto user, trace::UserFrames::create(trace, parameters.text("user")));
  SONDE_ASSIGN(const auto filter, user_filter(parameters.text("user")));
  const OpenFrames open(trace, user);
  const StackFrames stacks(trace, filter);
  const std::string& by = parameters.text("by");
  const Grouped grouped =
      group_sites(trace, [&](Row api) { return site_text(open, stacks, by, api); });
  const Groups groups = group_rows(grouped.group_of, grouped.texts.size());
  report::Section section{.key = "stacks", .empty_text = "No device operations."};
  report::Table& table = section.table;
  table.add_columns({{"frame", "Frame", Kind::kText, false, 1},
                     integer("ops", "Ops"),
                     time("total_ns", "Total"),
                     percent("percentage", "Share"),
                     time("busy_ns", "Busy"),
                     name("top_op", "Most of it")});
  struct Line {
    int64_t total_ns = 0;
    size_t group = 0;
  };
  std::vector<Line> lines;
  int64_t whole = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    Line line{0, group};
    for (const uint32_t op : groups.of(group)) line.total_ns += trace.op_ns(op);
    whole += line.total_ns;
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns
                                    : grouped.texts[a.group] < grouped.texts[b.group];
  });
  for (const Line& line : lines) {
    const auto ops = groups.of(line.group);
    std::map<trace::NameId, int64_t> by_name;
    for (const uint32_t op : ops) by_name[trace.label(op)] += trace.op_ns(op);
    const auto most =
        std::max_element(by_name.begin(), by_name.end(), [&](const auto& a, const auto& b) {
          return a.second != b.second ? a.second < b.second
                                      : trace.names[a.first] > trace.names[b.first];
        });
    table.add_row({grouped.texts[line.group], static_cast<int64_t>(ops.size()), line.total_ns,
                   percent_of(line.total_ns, whole), busy_ns(trace, ops),
                   trace.names[most->first]});
  }
  const auto& kinds = trace.apis.kind;
  const bool has_frames =
      std::find(kinds.begin(), kinds.end(), trace::ApiKind::kPython) != kinds.end();
  if (!has_frames && trace.apis.stack.empty() && trace.ops.size() != 0) {
    report.notes.push_back(
        "the file has no frames of calls (sonde record --launch-stacks; torch.profiler: "
        "with_stack=True)");
  }
  report.sections.push_back(std::move(section));
  return report;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  const std::string& by = parameters.text("by");
  const std::string& word = parameters.text("weight");
  const bool has_choice = parameters.flag("pid") || parameters.flag("tid");
  const Weight weight = weight_of(trace, word);
  if (weight == Weight::kGpu && by != "tree" && by != "callers" && !has_choice) {
    return launched_by(trace, parameters);
  }
  report::Report report = begin_report("stacks", trace);
  TreeOptions options;
  options.weight = weight;
  options.user = parameters.text("user");
  options.by_thread = parameters.flag("threads");
  options.native = parameters.flag("native");
  SONDE_ASSIGN(options.pid, number_of(parameters, "pid"));
  SONDE_ASSIGN(options.tid, number_of(parameters, "tid"));
  SONDE_ASSIGN(const double least, least_share(parameters));
  SONDE_ASSIGN(const CallTree tree, call_tree_of(trace, options));
  report.sections.push_back(tree_section(tree, by, weight, least));
  add_notes(trace, tree, weight, report);
  return report;
}

constexpr const char* kDefinition =
    "stacks: time by call path. --weight says which time:\n\n"
    "cpu: CPU time of sampled threads (sonde record --sample). A sample stands for the CPU time of "
    "its thread since the one before. Native and Python frames are in one stack, inlined functions "
    "are frames of their own.\n"
    "wall: if the recording sampled blocked threads too (--sample-clock wall), CPU time and the "
    "time that a thread was blocked in a stack. Otherwise the time of calls, ranges and Python "
    "frames that were recorded with begin and end, each without those within it.\n"
    "gpu: the time of GPU operations, below the calls, ranges and Python frames that were open on "
    "the thread when they were launched. Where the recording took the stacks of launching calls "
    "(--launch-stacks) they come first, from the outermost native or Python function on; below "
    "them are operators and ranges, the call, and the operation. The sum of a function is the time "
    "of all operations that were launched in it or below it, not an estimate; a call without a "
    "stack counts as it would without that option.\n\n"
    "The default is gpu if the file has GPU operations, else wall or cpu, whichever it has.\n\n"
    "--by says what a row is. user: the innermost frame of the user's own code. Frames of Python's "
    "library, installed packages (site-packages, dist-packages), frameworks (torch, triton, numpy "
    "...), and native code in system folders are not the user's own; --user says with a regular "
    "expression which frames are the user's (matched with the frame as it is shown; of samples and "
    "stacks with FILE: FUNCTION). leaf: the innermost frame of any kind. stack: all frames of the "
    "user from the outermost on, separated by semicolons. tree: a call path, below that of its "
    "caller and indented; the outermost frames that all paths share are left out, and a note says "
    "so. callers: the reverse: a function, and below it its callers.\n\n"
    "Total adds up the time of a row and, in tree and callers, of those below it; Self is without "
    "them. Share is Total in percent of all. Count is the number of samples, calls or operations "
    "of the row itself. Rows of less than --min-share percent are left out of tree and callers. "
    "Kind is user, library, call (of a runtime), device (an operation) or thread. File is the "
    "source file, of Python with the line that ran; the lines of a function are rows of their own. "
    "Layers of one class (nn.Module: Linear_0, Linear_1) are one frame. The picture (--format svg "
    "or html) is the flame graph of tree, or of callers.\n\n"
    "Self is the time of a row without what it called, Total that with it: samples in which the "
    "frame is anywhere on the stack, each once. What the Python interpreter itself does (frames of "
    "python3 and libpython3) is the time of the Python frame that it executes; --native shows "
    "these frames. A tree in text has every path of at least --min-share, whatever --limit is by "
    "default.\n\n"
    "In the flat tables of GPU time each operation counts in one row: (no user code) if the call "
    "has none around it, (unattributed) if the file does not have the call. Busy is the length of "
    "the union of their times on each GPU, Most of it names the operation with the largest part of "
    "Total.\n";

}  // namespace

Analysis stacks_analysis() {
  return {"stacks",
          "Show where time went by call path: CPU, wall or GPU time",
          "Shows sampled call stacks, native and Python, or the calls and frames that launched GPU "
          "work: by the innermost line of the user's own code, as a tree of callees or of callers, "
          "and as a flame graph.",
          kDefinition,
          {{"sonde stacks trace.rpd --weight cpu --by tree", "the tree of sampled CPU time"},
           {"sonde stacks trace.rpd --weight cpu --by tree --format svg > flame.svg",
            "as a flame graph, for any browser"},
           {"sonde stacks trace.json", "lines of the user's own code, largest GPU time first"},
           {"sonde stacks trace.json --user '^model/' --by stack", "from outermost to innermost"}},
          {{"weight", "TIME", "which time", "auto", {"auto", "cpu", "wall", "gpu"}},
           {"by", "WHAT", "what a row is", "user", {"user", "leaf", "stack", "tree", "callers"}},
           {"user", "REGEX",
            "frames that are the user's own code [those of no library that Sonde knows]", ""},
           {"native", "", "show the frames of the Python interpreter itself", ""},
           {"threads", "", "a tree for each thread", ""},
           {"pid", "PID", "only this process [all]", ""},
           {"tid", "TID", "only this thread [all]", ""},
           {"min-share", "PERCENT", "tree, callers: leave out what took less", "0.5"}},
          [](const Parameters& parameters) {
            const std::string& weight = parameters.text("weight");
            const bool is_gpu = weight == "gpu" || weight == "auto";
            return trace::Request{.ops = is_gpu,
                                  .nesting = true,
                                  .links = is_gpu,
                                  .samples = weight != "gpu",
                                  .launch_stacks = is_gpu,
                                  .all_apis = is_gpu};
          },
          run,
          true};
}

}  // namespace sonde::analysis
