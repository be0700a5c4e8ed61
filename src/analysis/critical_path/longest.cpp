#include <algorithm>

#include "analysis/critical_path/graph.h"

namespace sonde::analysis {
namespace {

constexpr uint32_t kNoEdge = ~uint32_t{0};

// The edges that leave each node: counting sort, linear.
struct Outgoing {
  std::vector<uint32_t> begin;  // begin[node + 1] is the end
  std::vector<uint32_t> edges;
  explicit Outgoing(const Graph& graph)
      : begin(graph.time_ns.size() + 2, 0), edges(graph.edges.size()) {
    for (const Edge& edge : graph.edges) ++begin[edge.from + 2];
    for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    // begin[node + 1] grows from the node's begin to its end.
    for (size_t i = 0; i < edges.size(); ++i) {
      edges[begin[graph.edges[i].from + 1]++] = static_cast<uint32_t>(i);
    }
  }
};

// Nodes so that every edge leads to a later one; nodes of circles are left out.
std::vector<uint32_t> ordered(const Graph& graph, const Outgoing& outgoing) {
  std::vector<uint32_t> incoming(graph.time_ns.size(), 0);
  for (const Edge& edge : graph.edges) ++incoming[edge.to];
  std::vector<uint32_t> order;
  order.reserve(incoming.size());
  for (uint32_t node = 0; node < incoming.size(); ++node) {
    if (incoming[node] == 0) order.push_back(node);
  }
  for (size_t done = 0; done < order.size(); ++done) {
    const uint32_t node = order[done];
    for (uint32_t i = outgoing.begin[node]; i < outgoing.begin[node + 1]; ++i) {
      const uint32_t to = graph.edges[outgoing.edges[i]].to;
      if (--incoming[to] == 0) order.push_back(to);
    }
  }
  return order;
}

}  // namespace

LongestPath longest_path(const Graph& graph) {
  const size_t nodes = graph.time_ns.size();
  const Outgoing outgoing(graph);
  const std::vector<uint32_t> order = ordered(graph, outgoing);
  LongestPath path;
  path.unordered = nodes - order.size();
  path.before_ns.assign(nodes, 0);
  std::vector<uint32_t> best(nodes, kNoEdge);
  for (const uint32_t node : order) {
    for (uint32_t i = outgoing.begin[node]; i < outgoing.begin[node + 1]; ++i) {
      const Edge& edge = graph.edges[outgoing.edges[i]];
      const int64_t length = path.before_ns[node] + edge.weight_ns;
      uint32_t& known = best[edge.to];
      const bool better = known == kNoEdge || length > path.before_ns[edge.to] ||
                          (length == path.before_ns[edge.to] &&
                           graph.time_ns[edge.from] > graph.time_ns[graph.edges[known].from]);
      if (!better) continue;
      path.before_ns[edge.to] = length;
      known = outgoing.edges[i];
    }
  }
  uint32_t last = kNoEdge;
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    if (best[*node] == kNoEdge) continue;
    const bool later = last == kNoEdge || path.before_ns[*node] > path.before_ns[last] ||
                       (path.before_ns[*node] == path.before_ns[last] &&
                        graph.time_ns[*node] > graph.time_ns[last]);
    if (later) last = *node;
  }
  if (last == kNoEdge) return path;
  path.length_ns = path.before_ns[last];
  while (best[last] != kNoEdge) {
    path.edges.push_back(best[last]);
    last = graph.edges[best[last]].from;
  }
  std::reverse(path.edges.begin(), path.edges.end());
  // What leads to the first edge with weight explains nothing.
  const auto first = std::find_if(path.edges.begin(), path.edges.end(),
                                  [&](size_t edge) { return graph.edges[edge].weight_ns > 0; });
  path.edges.erase(path.edges.begin(), first);
  return path;
}

std::vector<int64_t> longest_after(const Graph& graph) {
  const Outgoing outgoing(graph);
  const std::vector<uint32_t> order = ordered(graph, outgoing);
  std::vector<int64_t> after_ns(graph.time_ns.size(), 0);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    for (uint32_t i = outgoing.begin[*node]; i < outgoing.begin[*node + 1]; ++i) {
      const Edge& edge = graph.edges[outgoing.edges[i]];
      after_ns[*node] = std::max(after_ns[*node], after_ns[edge.to] + edge.weight_ns);
    }
  }
  return after_ns;
}

}  // namespace sonde::analysis
