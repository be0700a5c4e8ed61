#include "trace/op_tree.h"

namespace sonde::trace {
namespace {

// Calls that have begun before `start_ns` and have not ended then. Ranges of one thread may overlap
// without nesting, so the innermost one around a call need not be the last.
Row innermost(const Apis& apis, const std::vector<Row>& open, size_t api) {
  for (size_t i = open.size(); i > 0; --i) {
    const int64_t end_ns = apis.end_ns[static_cast<size_t>(open[i - 1])];
    if (end_ns >= apis.end_ns[api] && end_ns > apis.start_ns[api]) return open[i - 1];
  }
  return kNone;
}

void find_parents(const Trace& trace, std::vector<Row>& parent) {
  const Apis& apis = trace.apis;
  std::vector<std::vector<Row>> open_of(trace.threads.size());
  parent.assign(apis.size(), kNone);
  for (size_t i = 0; i < apis.size(); ++i) {
    if (!is_on_a_thread(apis.kind[i])) continue;
    std::vector<Row>& open = open_of[apis.thread[i]];
    while (!open.empty() && apis.end_ns[static_cast<size_t>(open.back())] <= apis.start_ns[i]) {
      open.pop_back();
    }
    parent[i] = innermost(apis, open, i);
    if (apis.end_ns[i] > apis.start_ns[i]) open.push_back(static_cast<Row>(i));
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
