#include "analysis/op_groups.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "base/demangle.h"
#include "base/strings.h"
#include "report/names.h"
#include "trace/op_tree.h"

namespace sonde::analysis {
namespace {

using report::Kind;
using report::Value;
using trace::ApiKind;
using trace::Row;

// Groups numbered as they come, by a number that identifies each.
class Numbering {
 public:
  explicit Numbering(OpGroups& groups) : groups_(groups) {}
  template <typename MakeKey>
  uint32_t of(int64_t id, MakeKey make_key) {
    const auto [entry, is_new] =
        number_.try_emplace(id, static_cast<uint32_t>(groups_.keys.size()));
    if (is_new) groups_.keys.push_back(make_key());
    return entry->second;
  }

 private:
  OpGroups& groups_;
  std::unordered_map<int64_t, uint32_t> number_;
};

using Keys = std::vector<Value>;

template <typename IdOf, typename KeyOf>
void number_rows(const std::vector<bool>& wanted, OpGroups& groups, IdOf id_of, KeyOf key_of) {
  Numbering numbering(groups);
  groups.group_of.assign(wanted.size(), kNoGroup);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) groups.group_of[i] = numbering.of(id_of(i), [&] { return key_of(i); });
  }
}

// Groups whose numbers differ and whose keys are equal become one.
void merge_equal_keys(OpGroups& groups) {
  std::map<std::string, uint32_t> number_of;
  std::vector<uint32_t> number;
  std::vector<Keys> keys;
  for (const Keys& key : groups.keys) {
    const auto* text = std::get_if<std::string>(&key[0]);
    const auto [entry, is_new] = number_of.try_emplace(text == nullptr ? std::string() : *text,
                                                       static_cast<uint32_t>(keys.size()));
    if (is_new) keys.push_back(key);
    number.push_back(entry->second);
  }
  groups.keys = std::move(keys);
  for (uint32_t& group : groups.group_of) {
    if (group != kNoGroup) group = number[group];
  }
}

std::string extent_text(const int64_t (&extent)[3]) {
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

void by_name(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  groups.columns = {{"name", "Name", Kind::kName}};
  number_rows(
      wanted, groups, [&](size_t i) { return trace.label(i); },
      [&](size_t i) { return Keys{trace.names[trace.label(i)]}; });
}

void by_base(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  by_name(trace, wanted, groups);
  for (Keys& key : groups.keys) {
    key[0] = report::short_name(demangle(std::get<std::string>(key[0])));
  }
  merge_equal_keys(groups);
}

void by_category(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  groups.columns = {{"category", "Category", Kind::kText}};
  number_rows(
      wanted, groups, [&](size_t i) { return static_cast<int64_t>(trace.ops.category[i]); },
      [&](size_t i) { return Keys{std::string(trace::category_name(trace.ops.category[i]))}; });
}

void by_stream(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  groups.columns = {{"gpu_id", "GPU", Kind::kId}, {"queue_id", "Queue", Kind::kId}};
  number_rows(
      wanted, groups, [&](size_t i) { return trace.ops.queue[i]; },
      [&](size_t i) {
        const trace::Queue& queue = trace.queues[trace.ops.queue[i]];
        return Keys{int64_t{queue.gpu}, queue.queue};
      });
}

void by_gpu(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  groups.columns = {{"gpu_id", "GPU", Kind::kId}};
  number_rows(
      wanted, groups, [&](size_t i) { return trace.ops.gpu[i]; },
      [&](size_t i) { return Keys{int64_t{trace.ops.gpu[i]}}; });
}

void by_rank(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  groups.columns = {{"rank", "Rank", Kind::kId}};
  number_rows(
      wanted, groups, [&](size_t i) { return trace.rank_of_op(i).value_or(-1); },
      [&](size_t i) {
        const auto rank = trace.rank_of_op(i);
        return Keys{rank ? Value(*rank) : Value()};
      });
}

void by_grid(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  groups.columns = {{"name", "Name", Kind::kName},
                    {"grid", "Grid", Kind::kText},
                    {"group", "Group", Kind::kText}};
  number_rows(
      wanted, groups,
      [&](size_t i) { return int64_t{trace.label(i)} << 32 | int64_t{trace.ops.shape[i]}; },
      [&](size_t i) {
        const trace::LaunchShape& shape = trace.shapes[trace.ops.shape[i]];
        const bool known = trace.ops.shape[i] != 0;
        return Keys{trace.names[trace.label(i)], known ? Value(extent_text(shape.grid)) : Value(),
                    known ? Value(extent_text(shape.group)) : Value()};
      });
}

// By the label of a call that `find(tree, op)` tells; operations without one are a group as well.
template <typename Find>
void by_call(const trace::Trace& trace, const std::vector<bool>& wanted, const char* key,
             const char* title, const char* none, Find find, OpGroups& groups) {
  groups.columns = {{key, title, Kind::kText}};
  const trace::OpTree tree = trace::build_op_tree(trace);
  std::vector<Row> call(wanted.size(), trace::kNone);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) call[i] = find(tree, i);
  }
  number_rows(
      wanted, groups,
      [&](size_t i) {
        return call[i] == trace::kNone ? -1
                                       : int64_t{trace.apis.label[static_cast<size_t>(call[i])]};
      },
      [&](size_t i) {
        return Keys{call[i] == trace::kNone
                        ? std::string(none)
                        : trace.names[trace.apis.label[static_cast<size_t>(call[i])]]};
      });
}

void by_operator(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  by_call(
      trace, wanted, "operator", "Operator", "(unattributed)",
      [](const trace::OpTree& tree, size_t op) { return tree.leaf[op]; }, groups);
}

void by_module(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  by_call(
      trace, wanted, "module", "Module", "(no module)",
      [&](const trace::OpTree& tree, size_t op) {
        return tree.nearest(trace.ops.api[op], [&](size_t api) {
          return trace.apis.kind[api] == ApiKind::kPython &&
                 starts_with_any(trace.names[trace.apis.label[api]], {"nn.Module: "});
        });
      },
      groups);
}

void by_marker(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  by_call(
      trace, wanted, "marker", "Marker", "(no marker)",
      [&](const trace::OpTree& tree, size_t op) {
        return tree.nearest(trace.ops.api[op],
                            [&](size_t api) { return trace.apis.kind[api] == ApiKind::kMarker; });
      },
      groups);
}

struct Grouping {
  const char* name;
  bool links, shapes;
  void (*group)(const trace::Trace&, const std::vector<bool>&, OpGroups&);
};
constexpr Grouping kGroupings[] = {
    {"name", false, false, by_name},         {"base", false, false, by_base},
    {"category", false, false, by_category}, {"stream", false, false, by_stream},
    {"gpu", false, false, by_gpu},           {"rank", true, false, by_rank},
    {"operator", true, false, by_operator},  {"module", true, false, by_module},
    {"marker", true, false, by_marker},      {"grid", false, true, by_grid},
};

const Grouping& grouping(const std::string& by) {
  for (const Grouping& candidate : kGroupings) {
    if (by == candidate.name) return candidate;
  }
  SONDE_CHECK(false);  // the parser has checked the choices
}

}  // namespace

const std::vector<std::string>& op_group_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Grouping& candidate : kGroupings) names.emplace_back(candidate.name);
    return names;
  }();
  return kNames;
}

void add_needs_of_group(const std::string& by, trace::Request& request) {
  request.ops = true;
  request.op_shapes |= grouping(by).shapes;
  request.links |= grouping(by).links;
  request.all_apis |= grouping(by).links;
}

OpGroups group_ops(const trace::Trace& trace, const std::string& by,
                   const std::vector<bool>& wanted) {
  OpGroups groups;
  grouping(by).group(trace, wanted, groups);
  return groups;
}

}  // namespace sonde::analysis
