#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <unordered_map>

#include "analysis/diff/diff.h"
#include "trace/op_tree.h"
#include "trace/steps.h"

namespace sonde::analysis {
namespace {

using trace::ApiKind;
using trace::kNone;
using trace::Row;

using Children = std::vector<size_t>;

std::set<std::string> words_of(const std::string& name) {
  constexpr size_t kShortest = 4;
  std::set<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (word.size() >= kShortest) words.insert(word);
    word.clear();
  };
  const size_t colon = name.rfind(':');  // what is before it says where the operator is from
  for (const char c : std::string_view(name).substr(colon == name.npos ? 0 : colon + 1, 256)) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      finish();
    } else {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  finish();
  return words;
}

// The longest common subsequence where elements are equal if they share a word.
std::vector<std::pair<size_t, size_t>> renamed(const PathTree& a, const Children& in_a,
                                               const PathTree& b, const Children& in_b) {
  constexpr size_t kMostPairs = 1'000'000;
  std::vector<std::pair<size_t, size_t>> pairs;
  if (in_a.empty() || in_b.empty() || in_a.size() > kMostPairs / in_b.size()) return pairs;
  std::vector<std::set<std::string>> words_a, words_b;
  for (const size_t node : in_a) words_a.push_back(words_of(a.nodes[node].name));
  for (const size_t node : in_b) words_b.push_back(words_of(b.nodes[node].name));
  const auto alike = [&](size_t i, size_t j) {
    return std::any_of(words_a[i].begin(), words_a[i].end(),
                       [&](const std::string& word) { return words_b[j].count(word) != 0; });
  };
  const size_t width = in_b.size() + 1;
  std::vector<uint32_t> longest((in_a.size() + 1) * width, 0);  // of what follows i and j
  for (size_t i = in_a.size(); i-- > 0;) {
    for (size_t j = in_b.size(); j-- > 0;) {
      uint32_t& here = longest[i * width + j];
      here = std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
      if (alike(i, j)) here = std::max(here, longest[(i + 1) * width + j + 1] + 1);
    }
  }
  for (size_t i = 0, j = 0; i < in_a.size() && j < in_b.size();) {
    const uint32_t here = longest[i * width + j];
    if (alike(i, j) && here == longest[(i + 1) * width + j + 1] + 1) {
      pairs.emplace_back(in_a[i++], in_b[j++]);
    } else if (here == longest[(i + 1) * width + j]) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

std::vector<std::pair<size_t, size_t>> pairs_of(const PathTree& a, const Children& in_a,
                                                const PathTree& b, const Children& in_b) {
  std::unordered_map<std::string_view, size_t> by_name;
  for (const size_t node : in_b) by_name.emplace(b.nodes[node].name, node);
  std::vector<std::pair<size_t, size_t>> pairs;
  Children left_a, left_b;
  std::set<size_t> taken;
  for (const size_t node : in_a) {
    const auto found = by_name.find(a.nodes[node].name);
    if (found == by_name.end()) {
      left_a.push_back(node);
    } else {
      pairs.emplace_back(node, found->second);
      taken.insert(found->second);
    }
  }
  for (const size_t node : in_b) {
    if (taken.count(node) == 0) left_b.push_back(node);
  }
  for (const auto& pair : renamed(a, left_a, b, left_b)) {
    pairs.push_back(pair);
    taken.insert(pair.second);
    left_a.erase(std::find(left_a.begin(), left_a.end(), pair.first));
  }
  for (const size_t node : left_a) pairs.emplace_back(node, AlignedNode::kNone);
  for (const size_t node : left_b) {
    if (taken.count(node) == 0) pairs.emplace_back(AlignedNode::kNone, node);
  }
  return pairs;
}

}  // namespace

std::string without_number(const std::string& name) {
  if (const auto stem = trace::iteration_stem(name); !stem.empty()) return std::string(stem);
  const size_t end = name.find_last_not_of("0123456789");
  const bool is_numbered = end != name.npos && end + 1 != name.size() && name[end] == '#';
  return is_numbered ? name.substr(0, end + 1) : name;
}

PathTree path_tree(const trace::Trace& trace) {
  PathTree tree;
  const trace::OpTree calls = trace::build_op_tree(trace);
  const auto is_in = [&](size_t api) {
    return trace.apis.kind[api] == ApiKind::kOperator || trace.apis.kind[api] == ApiKind::kMarker;
  };
  std::unordered_map<std::string, size_t> names;
  std::vector<size_t> name_of(trace.names.size(), AlignedNode::kNone);
  std::unordered_map<uint64_t, size_t> child_of;  // (node, name)
  std::vector<size_t> node_of(trace.apis.size(), 0);
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    const Row around = calls.parent[i];
    const size_t parent = around == kNone ? 0 : node_of[static_cast<size_t>(around)];
    node_of[i] = parent;
    if (!is_in(i)) continue;
    const std::string name = without_number(trace.names[trace.apis.label[i]]);
    size_t& number = name_of[trace.apis.label[i]];
    if (number == AlignedNode::kNone) number = names.try_emplace(name, names.size()).first->second;
    const auto [child, is_new] =
        child_of.try_emplace(uint64_t{parent} << 32 | number, tree.nodes.size());
    if (is_new) {
      tree.nodes[parent].children.push_back(tree.nodes.size());
      tree.nodes.push_back({name, {}, 0, 0, 0});
    }
    node_of[i] = child->second;
    ++tree.nodes[child->second].calls;
  }
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const Row api = trace.ops.api[op];
    PathTree::Node& node = tree.nodes[api == kNone ? 0 : node_of[static_cast<size_t>(api)]];
    ++node.ops;
    node.gpu_ns += trace.op_ns(op);
  }
  return tree;
}

std::vector<AlignedNode> align(const PathTree& a, const PathTree& b) {
  std::vector<AlignedNode> aligned = {{0, 0, AlignedNode::kNone}};
  for (size_t i = 0; i < aligned.size(); ++i) {
    const AlignedNode pair = aligned[i];
    const Children none;
    const Children& in_a = pair.a == AlignedNode::kNone ? none : a.nodes[pair.a].children;
    const Children& in_b = pair.b == AlignedNode::kNone ? none : b.nodes[pair.b].children;
    for (const auto& [node_a, node_b] : pairs_of(a, in_a, b, in_b)) {
      aligned.push_back({node_a, node_b, i});
    }
  }
  return aligned;
}

}  // namespace sonde::analysis
