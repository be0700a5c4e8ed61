#include "trace/op_tree.h"

#include <algorithm>

namespace sonde::trace {
namespace {

// Calls that have begun and not ended, the latest last. A call that ends no later than one which
// began after it can never be the innermost, and is left out: so each ends before the one below it,
// and the innermost around a call is found by its end.
class Open {
 public:
  explicit Open(const Apis& apis) : apis_(apis) {}

  Row innermost(size_t api) {
    const int64_t start_ns = apis_.start_ns[api];
    while (!rows_.empty() && end_of(rows_.back()) <= start_ns) rows_.pop_back();
    const int64_t least_ns = std::max(apis_.end_ns[api], start_ns + 1);
    const auto after = std::partition_point(rows_.begin(), rows_.end(),
                                            [&](Row row) { return end_of(row) >= least_ns; });
    return after == rows_.begin() ? kNone : after[-1];
  }
  void add(size_t api) {
    while (!rows_.empty() && end_of(rows_.back()) <= apis_.end_ns[api]) rows_.pop_back();
    rows_.push_back(static_cast<Row>(api));
  }

 private:
  int64_t end_of(Row row) const { return apis_.end_ns[static_cast<size_t>(row)]; }

  const Apis& apis_;
  std::vector<Row> rows_;
};

void find_parents(const Trace& trace, std::vector<Row>& parent) {
  const Apis& apis = trace.apis;
  std::vector<Open> open_of(trace.threads.size(), Open(apis));
  parent.assign(apis.size(), kNone);
  for (size_t i = 0; i < apis.size(); ++i) {
    if (!is_on_a_thread(apis.kind[i])) continue;
    Open& open = open_of[apis.thread[i]];
    parent[i] = open.innermost(i);
    if (apis.end_ns[i] > apis.start_ns[i]) open.add(i);
  }
}

}  // namespace

OpTree build_op_tree(const Trace& trace) {
  OpTree tree;
  find_parents(trace, tree.parent);
  const Apis& apis = trace.apis;
  const auto is_operator = [&](size_t i) { return apis.kind[i] == ApiKind::kOperator; };
  const auto is_range = [&](size_t i) {
    return apis.kind[i] == ApiKind::kMarker || apis.kind[i] == ApiKind::kPython;
  };
  tree.leaf.assign(trace.ops.api.size(), kNone);
  for (size_t op = 0; op < tree.leaf.size(); ++op) {
    const Row api = trace.ops.api[op];
    if (api == kNone) continue;
    Row leaf = tree.nearest(api, is_operator);
    if (leaf == kNone) leaf = tree.nearest(api, is_range);
    tree.leaf[op] = leaf == kNone ? api : leaf;
  }
  return tree;
}

}  // namespace sonde::trace
