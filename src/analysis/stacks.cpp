#include <algorithm>
#include <map>

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/totals.h"
#include "trace/frames.h"

namespace sonde::analysis {
namespace {

using report::Kind;
using report::Value;
using trace::kNone;
using trace::Row;

// What a row of the table is: a frame, or with --by stack all frames of the user from the
// outermost.
class Sites {
 public:
  Sites(const trace::Trace& trace, const trace::OpTree& tree, const trace::UserFrames& user)
      : trace_(trace), tree_(tree), user_(user) {}

  Row leaf(Row api) const {
    return tree_.nearest(api, [&](size_t i) { return trace::is_python(trace_, i); });
  }
  Row innermost(Row api) const {
    return tree_.nearest(api, [&](size_t i) { return user_.contains(i); });
  }
  std::string text(Row api) const {
    return api == kNone ? std::string() : trace_.names[trace_.apis.label[static_cast<size_t>(api)]];
  }
  std::string stack(Row api) const {
    std::string text_of_all;
    for (Row frame = innermost(api); frame != kNone;
         frame = innermost(tree_.parent[static_cast<size_t>(frame)])) {
      text_of_all = text_of_all.empty() ? text(frame) : text(frame) + ";" + text_of_all;
    }
    return text_of_all;
  }

 private:
  const trace::Trace& trace_;
  const trace::OpTree& tree_;
  const trace::UserFrames& user_;
};

struct Grouped {
  std::vector<std::string> texts;
  std::vector<uint32_t> group_of;  // by operation
  int64_t with_frame = 0;
};

Grouped group_sites(const trace::Trace& trace, const Sites& sites, const std::string& by) {
  Grouped grouped;
  std::map<std::string, uint32_t> number_of;
  std::map<Row, uint32_t> number_of_call;  // launches of one call have one stack
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const Row api = trace.ops.api[op];
    const auto known = number_of_call.find(api);
    if (known != number_of_call.end()) {
      grouped.group_of.push_back(known->second);
      continue;
    }
    const Row frame = by == "leaf" ? sites.leaf(api) : sites.innermost(api);
    std::string text = by == "stack" ? sites.stack(api) : sites.text(frame);
    if (text.empty()) text = api == kNone ? "(unattributed)" : "(no such frame)";
    const auto [entry, is_new] =
        number_of.try_emplace(text, static_cast<uint32_t>(grouped.texts.size()));
    if (is_new) grouped.texts.push_back(text);
    number_of_call.emplace(api, entry->second);
    grouped.group_of.push_back(entry->second);
  }
  return grouped;
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  report::Report report = begin_report("stacks", trace);
  SONDE_ASSIGN(const auto user, trace::UserFrames::create(trace, parameters.text("user")));
  const trace::OpTree tree = trace::build_op_tree(trace);
  const Sites sites(trace, tree, user);
  const Grouped grouped = group_sites(trace, sites, parameters.text("by"));
  const Groups groups = group_rows(grouped.group_of, grouped.texts.size());
  report::Section section;
  section.key = "stacks";
  section.empty_text = "No operations of a device.";
  report::Table& table = section.table;
  table.add_column({"frame", "Frame", Kind::kText});
  table.add_column({"ops", "Ops", Kind::kInteger});
  table.add_column({"total_ns", "Total", Kind::kTime, 0, true});
  table.add_column({"percentage", "Share", Kind::kPercent, 2});
  table.add_column({"busy_ns", "Busy", Kind::kTime, 0, true});
  table.add_column({"top_op", "Most of it", Kind::kName});
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
  if (!has_frames && trace.ops.size() != 0) {
    report.notes.push_back("the file has no Python frames (torch.profiler: with_stack=True)");
  }
  report.sections.push_back(std::move(section));
  return report;
}

constexpr const char* kDefinition =
    "stacks: the time of operations of GPUs by the Python code that launched them. With --by user "
    "(the default) a row is the innermost frame of the user's own code around the launching call: "
    "not of Python's library, of installed packages (site-packages, dist-packages) or of a "
    "framework (torch, triton, numpy ...); --user says with a regular expression which frames are "
    "the user's. --by leaf takes the innermost frame whosever it is, --by stack all frames of the "
    "user from the outermost on, separated by semicolons. Each operation counts in one row: "
    "(no such frame) if the call has none around it, (unattributed) if the file does not have the "
    "call. Total adds up durations, Busy is the length of the union of their times on each GPU, "
    "Most of it names the operation with the largest part of Total.\n";

}  // namespace

const Analysis& stacks_analysis() {
  static const Analysis kAnalysis{
      "stacks",
      "Show which lines of Python the GPU time comes from",
      "The innermost frame of the user's own code around each launching call, the leaf frame, or "
      "the whole stack.",
      kDefinition,
      {{"sonde stacks trace.json", "own lines, largest GPU time first"},
       {"sonde stacks trace.json --user '^model/' --by stack", "from outermost to innermost"}},
      {{"by", "WHAT", "what a row is", "user", {"user", "leaf", "stack"}},
       {"user", "REGEX", "frames that are the user's own code", ""}},
      [](const Parameters&) {
        return trace::Request{.ops = true, .links = true, .all_apis = true};
      },
      run,
      true};
  return kAnalysis;
}

}  // namespace sonde::analysis
