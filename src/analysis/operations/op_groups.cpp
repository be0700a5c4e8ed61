#include "analysis/operations/op_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/check.h"
#include "base/demangle.h"
#include "base/strings.h"
#include "report/names.h"
#include "trace/group_names.h"
#include "trace/op_tree.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using report::Kind;
using report::Value;
using trace::ApiKind;
using trace::Row;

using Key = std::vector<Value>;

// Groups numbered in order of appearance, by a number that identifies each. Those below `dense` are
// looked up in a vector, which is what makes ten million operations cheap.
class Numbering {
 public:
  Numbering(OpGroups& groups, size_t dense) : groups_(groups), dense_(dense, kNoGroup) {}
  template <typename MakeKey>
  uint32_t of(int64_t id, MakeKey make_key) {
    uint32_t& number = static_cast<uint64_t>(id) < dense_.size()
                           ? dense_[static_cast<size_t>(id)]
                           : sparse_.try_emplace(id, kNoGroup).first->second;
    if (number == kNoGroup) {
      number = static_cast<uint32_t>(groups_.groups.size());
      groups_.groups.push_back({make_key()});
    }
    return number;
  }

 private:
  OpGroups& groups_;
  std::vector<uint32_t> dense_;
  std::unordered_map<int64_t, uint32_t> sparse_;
};

template <typename IdOf, typename KeyOf>
void number_rows(const std::vector<bool>& wanted, size_t dense, OpGroups& groups, IdOf id_of,
                 KeyOf key_of) {
  Numbering numbering(groups, dense);
  groups.group_of.assign(wanted.size(), kNoGroup);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) groups.group_of[i] = numbering.of(id_of(i), [&] { return key_of(i); });
  }
}

void renumber(const std::vector<uint32_t>& number, OpGroups& groups) {
  for (uint32_t& group : groups.group_of) {
    if (group != kNoGroup) group = number[group];
  }
}

// Each key made another; groups that have equal ones then become one.
template <typename Change>
void change_keys(OpGroups& groups, Change change) {
  std::map<Key, uint32_t> number_of;
  std::vector<uint32_t> number;
  std::vector<OpGroup> changed;
  for (const OpGroup& group : groups.groups) {
    Key key = change(group.key);
    const auto [entry, is_new] = number_of.try_emplace(key, static_cast<uint32_t>(changed.size()));
    if (is_new) changed.push_back({std::move(key)});
    number.push_back(entry->second);
  }
  groups.groups = std::move(changed);
  renumber(number, groups);
}

std::string extent_text(const int64_t (&extent)[3]) {
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

using Wanted = std::vector<bool>;

void by_name(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  groups.columns = {{"name", "Name", Kind::kName}};
  number_rows(
      wanted, trace.names.size(), groups, [&](size_t i) { return trace.label(i); },
      [&](size_t i) { return Key{trace.names[trace.label(i)]}; });
}

void by_base(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  by_name(trace, wanted, groups);
  change_keys(groups, [](const Key& key) {
    return Key{report::short_name(demangle(std::get<std::string>(key[0])))};
  });
}

void by_type(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  groups.columns = {{"type", "Type", Kind::kText}};
  number_rows(
      wanted, trace.names.size(), groups, [&](size_t i) { return trace.ops.type[i]; },
      [&](size_t i) { return Key{trace.names[trace.ops.type[i]]}; });
}

void by_category(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  groups.columns = {{"category", "Category", Kind::kText}};
  number_rows(
      wanted, trace::kCategories, groups,
      [&](size_t i) { return static_cast<int64_t>(trace.ops.category[i]); },
      [&](size_t i) { return Key{std::string(trace::category_name(trace.ops.category[i]))}; });
}

void by_stream(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  groups.columns = {{"gpu_id", "GPU", Kind::kId}, {"queue_id", "Queue", Kind::kId}};
  number_rows(
      wanted, trace.queues.size(), groups, [&](size_t i) { return trace.ops.queue[i]; },
      [&](size_t i) {
        const trace::Queue& queue = trace.queues[trace.ops.queue[i]];
        return Key{int64_t{queue.gpu}, queue.queue};
      });
}

constexpr size_t kSmallNumbers = 4096;  // GPUs and ranks have such, as a rule

void by_gpu(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  groups.columns = {{"gpu_id", "GPU", Kind::kId}};
  number_rows(
      wanted, kSmallNumbers, groups, [&](size_t i) { return trace.ops.gpu[i]; },
      [&](size_t i) { return Key{int64_t{trace.ops.gpu[i]}}; });
}

void by_rank(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  groups.columns = {{"rank", "Rank", Kind::kId}};
  number_rows(
      wanted, kSmallNumbers, groups, [&](size_t i) { return trace.rank_of_op(i).value_or(-1); },
      [&](size_t i) {
        const auto rank = trace.rank_of_op(i);
        return Key{rank ? Value(*rank) : Value()};
      });
}

// Size classes are powers of four from 1 KiB on: [0, 1 KiB), [1 KiB, 4 KiB), ...
constexpr int64_t kSizeClasses = 16;

int64_t class_of_size(int64_t bytes) {
  if (bytes < 1024) return bytes < 0 ? -1 : 0;
  const int64_t bits = std::bit_width(static_cast<uint64_t>(bytes)) - 1;  // >= 10
  return std::min(kSizeClasses - 1, (bits - 10) / 2 + 1);
}

int64_t lower_bound_of(int64_t size_class) {
  return size_class == 0 ? 0 : int64_t{1024} << (2 * (size_class - 1));
}

void by_size(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  groups.columns = {{"from_bytes", "From", Kind::kBytes}, {"below_bytes", "Below", Kind::kBytes}};
  number_rows(
      wanted, kSizeClasses, groups, [&](size_t i) { return class_of_size(trace.ops.bytes[i]); },
      [&](size_t i) {
        const int64_t size_class = class_of_size(trace.ops.bytes[i]);
        if (size_class < 0) return Key{Value(), Value()};
        const bool open = size_class + 1 == kSizeClasses;
        return Key{lower_bound_of(size_class),
                   open ? Value() : Value(lower_bound_of(size_class + 1))};
      });
}

// "Memcpy DtoH (Device -> Pageable)": what Kineto says of the memory on both sides.
Value memory_of(const std::string& name) {
  const size_t begin = name.find('(');
  const size_t end = name.rfind(')');
  const bool is_pair =
      begin != name.npos && end != name.npos && begin < end && name.find("->", begin) < end;
  return is_pair ? Value(name.substr(begin + 1, end - begin - 1)) : Value();
}

void by_memory(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  const auto name = [&](size_t i) {
    return trace::moves_memory(trace.class_of(i)) ? trace.ops.name[i] : trace.empty_name;
  };
  number_rows(wanted, trace.names.size(), groups, name,
              [&](size_t i) { return Key{trace.names[name(i)]}; });
  groups.columns = {{"memory", "Memory", Kind::kText}};
  change_keys(groups, [](const Key& key) { return Key{memory_of(std::get<std::string>(key[0]))}; });
}

void by_grid(const trace::Trace& trace, const std::vector<bool>& wanted, OpGroups& groups) {
  groups.columns = {{"name", "Name", Kind::kName},
                    {"grid", "Grid", Kind::kText},
                    {"group", "Group", Kind::kText}};
  number_rows(
      wanted, 0, groups,
      [&](size_t i) { return int64_t{trace.label(i)} << 32 | int64_t{trace.ops.shape[i]}; },
      [&](size_t i) {
        const trace::LaunchShape& shape = trace.shapes[trace.ops.shape[i]];
        const bool known = trace.ops.shape[i] != 0;
        return Key{trace.names[trace.label(i)], known ? Value(extent_text(shape.grid)) : Value(),
                   known ? Value(extent_text(shape.group)) : Value()};
      });
}

// By the label of the call that call_of(op) returns; operations without one are a group as well.
template <typename CallOf>
void by_label(const trace::Trace& trace, const Wanted& wanted, report::Column column,
              const char* none, CallOf call_of, OpGroups& groups) {
  groups.columns = {std::move(column)};
  std::vector<Row> call(wanted.size(), trace::kNone);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) call[i] = call_of(i);
  }
  const trace::GroupNames names(trace);
  const auto label = [&](size_t i) {
    return names.of(trace.apis.label[static_cast<size_t>(call[i])]);
  };
  number_rows(
      wanted, trace.names.size(), groups,
      [&](size_t i) { return call[i] == trace::kNone ? -1 : int64_t{label(i)}; },
      [&](size_t i) {
        return Key{call[i] == trace::kNone ? std::string(none) : names.text(label(i))};
      });
}

void by_call(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  by_label(
      trace, wanted, {"call", "Call", Kind::kText}, "(no call)",
      [&](size_t op) { return trace.ops.api[op]; }, groups);
}

void by_operator(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  const trace::OpTree tree = trace::build_op_tree(trace);
  by_label(
      trace, wanted, {"operator", "Operator", Kind::kText}, "(unattributed)",
      [&](size_t op) { return tree.leaf[op]; }, groups);
}

void by_module(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  const trace::OpTree tree = trace::build_op_tree(trace);
  const auto is_module = [&](size_t api) {
    return trace.apis.kind[api] == ApiKind::kPython &&
           starts_with_any(trace.names[trace.apis.label[api]], {"nn.Module: "});
  };
  by_label(
      trace, wanted, {"module", "Module", Kind::kText}, "(no module)",
      [&](size_t op) { return tree.nearest(trace.ops.api[op], is_module); }, groups);
}

void by_marker(const trace::Trace& trace, const Wanted& wanted, OpGroups& groups) {
  const trace::OpTree tree = trace::build_op_tree(trace);
  const auto is_marker = [&](size_t api) { return trace.apis.kind[api] == ApiKind::kMarker; };
  by_label(
      trace, wanted, {"marker", "Marker", Kind::kText}, "(no marker)",
      [&](size_t op) { return tree.nearest(trace.ops.api[op], is_marker); }, groups);
}

struct Grouping {
  const char* name;
  void (*group)(const trace::Trace&, const Wanted&, OpGroups&);
  bool links = false, shapes = false, bytes = false;
};
constexpr Grouping kGroupings[] = {
    {"name", by_name},
    {"base", by_base},
    {"type", by_type},
    {"category", by_category},
    {"stream", by_stream},
    {"gpu", by_gpu},
    {"rank", by_rank, true},
    {"call", by_call, true},
    {"operator", by_operator, true},
    {"module", by_module, true},
    {"marker", by_marker, true},
    {"grid", by_grid, false, true},
    {"size", by_size, false, false, true},
    {"memory", by_memory},
};

const Grouping& grouping(const std::string& by) {
  for (const Grouping& candidate : kGroupings) {
    if (by == candidate.name) return candidate;
  }
  SONDE_CHECK(false);  // the parser has checked the choices
}

// The groups that are left when both are applied.
OpGroups crossed(const OpGroups& a, const OpGroups& b, const Wanted& wanted) {
  OpGroups both;
  both.columns = a.columns;
  both.columns.insert(both.columns.end(), b.columns.begin(), b.columns.end());
  number_rows(
      wanted, 0, both,
      [&](size_t i) { return int64_t{a.group_of[i]} << 32 | int64_t{b.group_of[i]}; },
      [&](size_t i) {
        Key key = a.groups[a.group_of[i]].key;
        const Key& rest = b.groups[b.group_of[i]].key;
        key.insert(key.end(), rest.begin(), rest.end());
        return key;
      });
  return both;
}

void add_up(const trace::Trace& trace, OpGroups& groups) {
  const bool has_bytes = !trace.ops.bytes.empty();
  for (size_t op = 0; op < groups.group_of.size(); ++op) {
    if (groups.group_of[op] == kNoGroup) continue;
    OpGroup& group = groups.groups[groups.group_of[op]];
    group.time.add(trace.op_ns(op));
    if (!has_bytes || trace.ops.bytes[op] < 0) continue;
    ++group.sized_calls;
    group.sized_ns += trace.op_ns(op);
    group.bytes += trace.ops.bytes[op];
  }
}

void sort_groups(OpGroups& groups) {
  std::vector<uint32_t> order(groups.groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t left, uint32_t right) {
    const OpGroup& a = groups.groups[left];
    const OpGroup& b = groups.groups[right];
    return a.time.total_ns != b.time.total_ns ? a.time.total_ns > b.time.total_ns : a.key < b.key;
  });
  std::vector<OpGroup> sorted;
  std::vector<uint32_t> number(order.size());
  for (const uint32_t group : order) {
    number[group] = static_cast<uint32_t>(sorted.size());
    sorted.push_back(std::move(groups.groups[group]));
  }
  groups.groups = std::move(sorted);
  renumber(number, groups);
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
  const Grouping& needed = grouping(by);
  request.ops = true;
  request.op_bytes |= needed.bytes;
  request.op_shapes |= needed.shapes;
  request.links |= needed.links;
  request.all_apis |= needed.links;
}

std::vector<bool> all_ops(const trace::Trace& trace) {
  return std::vector<bool>(trace.ops.size(), true);
}

std::vector<bool> kernels_of(const trace::Trace& trace) {
  return ops_where(trace, [&](size_t op) { return trace.class_of(op) == trace::OpClass::kKernel; });
}

int64_t OpGroups::total_ns() const {
  int64_t sum = 0;
  for (const OpGroup& group : groups) sum += group.time.total_ns;
  return sum;
}

OpGroups group_ops(const trace::Trace& trace, const std::vector<std::string>& by,
                   const std::vector<bool>& wanted) {
  OpGroups groups;
  for (const std::string& property : by) {
    OpGroups next;
    grouping(property).group(trace, wanted, next);
    groups = groups.columns.empty() ? std::move(next) : crossed(groups, next, wanted);
  }
  add_up(trace, groups);
  sort_groups(groups);
  return groups;
}

std::vector<OpSpread> spread_of(const trace::Trace& trace, const OpGroups& groups) {
  const Groups rows = group_rows(groups.group_of, groups.groups.size());
  std::vector<OpSpread> spreads;
  std::vector<int64_t> durations;
  for (size_t group = 0; group < rows.size(); ++group) {
    durations.clear();
    for (const uint32_t row : rows.of(group)) durations.push_back(trace.op_ns(row));
    spreads.push_back({spread_of(durations), busy_ns(trace, rows.of(group))});
  }
  return spreads;
}

report::Table totals_table(const OpGroups& groups) {
  report::Table table;
  table.columns = groups.columns;
  table.add_columns({integer("calls", "Calls"), time("total_ns", "Total"), time("mean_ns", "Mean"),
                     time("min_ns", "Min"), time("max_ns", "Max"), percent("percentage", "Share")});
  const int64_t whole = groups.total_ns();
  for (const OpGroup& group : groups.groups) {
    const Total& time = group.time;
    std::vector<Value> row = group.key;
    row.insert(row.end(), {time.calls, time.total_ns, time.mean_ns(), time.min_ns, time.max_ns,
                           percent_of(time.total_ns, whole)});
    table.add_row(std::move(row));
  }
  return table;
}

}  // namespace sonde::analysis
