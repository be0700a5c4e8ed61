#include "analysis/stacks/stacks_view.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/totals.h"
#include "base/join.h"
#include "base/number.h"
#include "base/strings.h"

namespace sonde::analysis {

using namespace report::columns;
using report::Kind;
using report::Value;
using trace::kNone;

namespace {

// What is too narrow to be seen is not worth its bytes.
constexpr double kLeastDrawn = 0.02;

report::FlameGraph flame_of(const CallTree& tree, const std::string& title) {
  report::FlameGraph flame;
  flame.key = "flame";
  flame.title = title;
  flame.colours = {"own code", "libraries", "calls", "device", "threads"};
  static constexpr uint32_t kColourOf[] = {4, 0, 1, 2, 3};  // by FrameClass
  const auto children = tree.children();
  const double least = static_cast<double>(tree.whole_ns()) * kLeastDrawn / 100;
  flame.boxes.push_back({-1, "all", "", 4, tree.whole_ns()});
  struct Place {
    uint32_t node;
    int32_t parent;
  };
  std::vector<Place> next;
  const auto push = [&](size_t of, int32_t parent) {
    for (size_t i = children[of].size(); i-- > 0;) next.push_back({children[of][i], parent});
  };
  push(tree.nodes.size(), 0);
  while (!next.empty()) {
    const Place place = next.back();
    next.pop_back();
    const TreeNode& node = tree.nodes[place.node];
    if (node.total_ns <= 0 || static_cast<double>(node.total_ns) < least) continue;
    const TreeFrame& frame = tree.frames[node.frame];
    flame.boxes.push_back({place.parent, frame.text, frame.file,
                           kColourOf[static_cast<size_t>(frame.frame_class)], node.total_ns});
    push(place.node, static_cast<int32_t>(flame.boxes.size()) - 1);
  }
  return flame;
}

report::Table empty_table(bool is_tree, bool has_self) {
  report::Table table;
  report::Column frame{"frame", "Frame", Kind::kText};
  frame.indented = is_tree;
  frame.priority = 1;
  table.add_column(frame);
  table.add_columns({time("total_ns", is_tree ? "Total" : "Self"), percent("percentage", "Share")});
  if (has_self) table.add_column(time("self_ns", "Self"));
  if (!is_tree) table.add_column(time("inclusive_ns", "Total"));
  if (has_self || !is_tree) table.add_column(integer("count", "Count"));
  table.add_columns({text("kind", "Kind"), text("file", "File")});
  if (is_tree) table.add_column({"depth", "Depth", Kind::kId, false, -1});
  return table;
}

// The frames from the outermost on that all time has in common, with no time of their own.
std::vector<uint32_t> common_path(const CallTree& tree,
                                  const std::vector<std::vector<uint32_t>>& children) {
  std::vector<uint32_t> path;
  for (size_t at = tree.nodes.size();;) {
    if (children[at].size() != 1) break;
    const uint32_t only = children[at].front();
    if (tree.nodes[only].self_ns != 0 || children[only].empty()) break;
    if (tree.frames[tree.nodes[only].frame].frame_class == FrameClass::kThread) break;
    path.push_back(only);
    at = only;
  }
  return path;
}

// From the outside on: frames that all paths share, and that have no time of their own, say
// nothing.
void add_tree_rows(const CallTree& tree, double least_percentage, bool from_outside,
                   report::Section& section) {
  const bool has_self = from_outside;
  const auto children = tree.children();
  const int64_t whole_ns = tree.whole_ns();
  size_t root = tree.nodes.size();
  if (from_outside) {
    const std::vector<uint32_t> path = common_path(tree, children);
    const auto name = [&](uint32_t node) { return tree.frames[tree.nodes[node].frame].text; };
    const std::string names = join(path, " > ", name);
    if (!names.empty()) section.remarks.push_back("Left out above all paths: " + names + ".");
    if (!path.empty()) root = path.back();
  }
  struct Place {
    uint32_t node;
    int64_t depth;
  };
  std::vector<Place> next;
  const auto push = [&](size_t of, int64_t depth) {
    for (size_t i = children[of].size(); i-- > 0;) next.push_back({children[of][i], depth});
  };
  push(root, 0);
  const double least_ns = static_cast<double>(whole_ns) * least_percentage / 100;
  uint64_t left_out = 0;
  while (!next.empty()) {
    const auto [index, depth] = next.back();
    next.pop_back();
    const TreeNode& node = tree.nodes[index];
    push(index, depth + 1);
    if (static_cast<double>(node.total_ns) < least_ns) {
      ++left_out;
      continue;
    }
    const TreeFrame& frame = tree.frames[node.frame];
    std::vector<Value> row = {frame.text, node.total_ns, percent_of(node.total_ns, whole_ns)};
    if (has_self) row.insert(row.end(), {node.self_ns, node.count});
    row.insert(row.end(), {std::string(name_of(frame.frame_class)), frame.file, depth});
    section.table.add_row(std::move(row));
  }
  if (left_out != 0) {
    section.remarks.push_back(format_count(left_out) +
                              " paths of smaller shares are left out (--min-share 0 shows all).");
  }
}

// user, leaf, stack: each node's own time goes to one row.
class FlatRows {
 public:
  FlatRows(const CallTree& tree, const std::string& by) : tree_(tree), by_(by) {}

  void add_to(report::Table& table) {
    std::map<Key, Row> rows;
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      const TreeNode& node = tree_.nodes[i];
      if (node.self_ns == 0 && node.count == 0) continue;
      Row& row = rows[key_of(static_cast<int32_t>(i))];
      row.total_ns += node.self_ns;
      row.count += node.count;
    }
    add_inclusive(rows);
    std::vector<std::pair<Key, Row>> sorted(rows.begin(), rows.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return a.second.total_ns > b.second.total_ns;
    });
    for (const auto& [key, row] : sorted) {
      table.add_row({key.text, row.total_ns, percent_of(row.total_ns, tree_.whole_ns()),
                     row.inclusive_ns, row.count, key.kind, key.file});
    }
  }

 private:
  struct Key {
    std::string text, file, kind;
    auto operator<=>(const Key&) const = default;
  };
  struct Row {
    int64_t total_ns = 0, count = 0, inclusive_ns = 0;
  };

  // Each row that has time of its own also gets that of what it called, once where it recurs.
  void add_inclusive(std::map<Key, Row>& rows) const {
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      if (tree_.nodes[i].self_ns == 0) continue;
      std::set<Key> seen;
      for (auto at = static_cast<int32_t>(i); at != kNone;) {
        // What has no user code above it only led to the user's.
        const bool led_there = at != static_cast<int32_t>(i) && by_ != "leaf";
        if (led_there && user_at_or_above(at) == kNone) break;
        const Key key = key_of(at);
        const auto row = rows.find(key);
        if (row != rows.end() && seen.insert(key).second) {
          row->second.inclusive_ns += tree_.nodes[i].self_ns;
        }
        at = tree_.nodes[static_cast<size_t>(at)].parent;
      }
    }
  }

  const TreeFrame& frame(int32_t node) const {
    return tree_.frames[tree_.nodes[static_cast<size_t>(node)].frame];
  }
  int32_t user_at_or_above(int32_t node) const {
    while (node != kNone && frame(node).frame_class != FrameClass::kUser) {
      node = tree_.nodes[static_cast<size_t>(node)].parent;
    }
    return node;
  }
  Key key_of(int32_t node) const {
    const int32_t at = by_ == "leaf" ? node : user_at_or_above(node);
    if (at == kNone) return {kNoUserCode, "", ""};
    Key key{frame(at).text, frame(at).file, name_of(frame(at).frame_class)};
    if (by_ != "stack") return key;
    for (int32_t up = at;;) {
      up = user_at_or_above(tree_.nodes[static_cast<size_t>(up)].parent);
      if (up == kNone) return key;
      key.text = frame(up).text + ";" + key.text;
    }
  }

  const CallTree& tree_;
  const std::string& by_;
};

const char* title_of(Weight weight) {
  return weight == Weight::kCpu    ? "CPU time"
         : weight == Weight::kWall ? "Wall time"
                                   : "GPU time by launching call";
}

}  // namespace

Weight weight_of(const trace::Trace& trace, const std::string& word) {
  if (word == "cpu") return Weight::kCpu;
  if (word == "wall") return Weight::kWall;
  if (word == "gpu" || trace.ops.size() != 0) return Weight::kGpu;
  if (trace.blocked.size() != 0) return Weight::kWall;
  if (trace.samples.size() != 0) return Weight::kCpu;
  return trace.apis.size() != 0 ? Weight::kWall : Weight::kGpu;
}

Result<std::optional<int64_t>> number_of(const Parameters& parameters, const char* option) {
  if (!parameters.flag(option)) return std::optional<int64_t>();
  SONDE_ASSIGN(const int64_t number, parameters.count(option));
  return std::optional<int64_t>(number);
}

Result<double> least_share(const Parameters& parameters) {
  const std::string& text = parameters.text("min-share");
  const auto value = number_in<double>(text);
  if (!value || !(*value >= 0 && *value <= 100)) {
    return make_error(ErrorCode::kInvalidArgument, "'" + text + "' is not a percentage",
                      "--min-share", "from 0 to 100");
  }
  return *value;
}

report::Section tree_section(const CallTree& tree, const std::string& by, Weight weight,
                             double least_percentage) {
  report::Section section{.key = "stacks", .empty_text = "Nothing took time."};
  const bool is_tree = by == "tree" || by == "callers";
  section.table = empty_table(is_tree, by == "tree");
  if (tree.whole_ns() <= 0) return section;
  if (by == "callers") {
    const CallTree callers = upside_down(tree);
    add_tree_rows(callers, least_percentage, false, section);
    section.flames.push_back(flame_of(callers, std::string(title_of(weight)) + ", by callers"));
    return section;
  }
  if (is_tree) {
    add_tree_rows(tree, least_percentage, true, section);
  } else {
    FlatRows(tree, by).add_to(section.table);
  }
  section.flames.push_back(flame_of(tree, title_of(weight)));
  return section;
}

void add_notes(const trace::Trace& trace, const CallTree& tree, Weight weight,
               report::Report& report) {
  if (trace.stacks.bad_samples != 0) {
    report.warnings.push_back(format_count(trace.stacks.bad_samples) +
                              " samples have no valid stack and are left out");
  }
  if (weight == Weight::kWall && trace.blocked.size() == 0 && trace.samples.size() != 0) {
    report.notes.push_back(
        "time of calls and ranges; sonde record --sample-clock wall samples blocked threads too");
  }
  if (tree.whole_ns() > 0) return;
  if (weight == Weight::kCpu) {
    report.notes.push_back("the file has no sampled stacks (sonde record --sample)");
  }
}

}  // namespace sonde::analysis
