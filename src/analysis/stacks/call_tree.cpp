#include "analysis/stacks/call_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/numbered.h"
#include "trace/group_names.h"
#include "trace/op_tree.h"

namespace sonde::analysis {

using trace::kNone;
using trace::Row;

namespace {

class TreeBuilder {
 public:
  uint32_t frame(TreeFrame frame) {
    std::string key = frame.text + '\0' + frame.file + '\0' + name_of(frame.frame_class);
    return numbered(frames_, tree_.frames, std::move(key), std::move(frame));
  }
  int32_t node(int32_t parent, uint32_t frame) {
    const uint64_t key = uint64_t{static_cast<uint32_t>(parent)} << 32 | frame;
    return numbered(nodes_, tree_.nodes, key, TreeNode{parent, frame});
  }
  void add(int32_t node, int64_t ns, int64_t count) {
    TreeNode& at = tree_.nodes[static_cast<size_t>(node)];
    at.self_ns += ns;
    at.count += count;
  }
  CallTree take() {
    for (TreeNode& node : tree_.nodes) node.total_ns = node.self_ns;
    for (size_t i = tree_.nodes.size(); i-- > 0;) {
      const TreeNode& node = tree_.nodes[i];
      if (node.parent != kNone) {
        tree_.nodes[static_cast<size_t>(node.parent)].total_ns += node.total_ns;
      }
    }
    return std::move(tree_);
  }

 private:
  CallTree tree_;
  std::unordered_map<std::string, uint32_t> frames_;
  std::unordered_map<uint64_t, int32_t> nodes_;
};

// The root of each thread, and whether it is wanted.
class Threads {
 public:
  Threads(const trace::Trace& trace, const TreeOptions& options, TreeBuilder& builder)
      : trace_(trace), options_(options), builder_(builder), roots_(trace.threads.size(), kNone) {}

  bool wants(uint32_t thread) const {
    const trace::Thread& of = trace_.threads[thread];
    if (options_.tid && of.tid != *options_.tid) return false;
    return !options_.pid || (of.process != kNone && pid_of(of) == *options_.pid);
  }
  int32_t root(uint32_t thread) {
    if (!options_.by_thread) return kNone;
    int32_t& root = roots_[thread];
    if (root == kNone) {
      const trace::Thread& of = trace_.threads[thread];
      std::string text = fmt::format("thread {}", of.tid);
      if (of.process != kNone) text += fmt::format(" of {}", pid_of(of));
      root = builder_.node(kNone, builder_.frame({text, "", FrameClass::kThread}));
    }
    return root;
  }

 private:
  int64_t pid_of(const trace::Thread& thread) const {
    return trace_.processes[static_cast<size_t>(thread.process)].pid;
  }
  const trace::Trace& trace_;
  const TreeOptions& options_;
  TreeBuilder& builder_;
  std::vector<int32_t> roots_;
};

// The nodes of stacks, each made when it is first needed. With a root for each thread they are made
// anew for each.
class StackNodes {
 public:
  StackNodes(const trace::Trace& trace, const TreeOptions& options, TreeBuilder& builder)
      : trace_(trace), native_(options.native), builder_(builder) {}

  Status prepare(const std::string& user) {
    SONDE_ASSIGN(const auto filter, user_filter(user));
    for (const trace::CodeFrame& code : trace_.stacks.frames) {
      frames_.push_back(frame_of(code, filter));
      is_folded_.push_back(!native_ && code.is_interpreter);
    }
    return ok_status();
  }

  int32_t node(int32_t root, int32_t stack) {
    auto& known = nodes_[root];
    if (known.empty()) known.assign(trace_.stacks.size(), kNone);
    std::vector<int32_t> path;
    for (; stack != kNone && known[static_cast<size_t>(stack)] == kNone;
         stack = trace_.stacks.parent[static_cast<size_t>(stack)]) {
      path.push_back(stack);
    }
    int32_t node = stack == kNone ? root : known[static_cast<size_t>(stack)];
    for (size_t i = path.size(); i-- > 0;) {
      const auto at = static_cast<size_t>(path[i]);
      const uint32_t frame = trace_.stacks.frame[at];
      // Its time is that of the frame which it executes.
      if (!is_folded_[frame] || node == root) node = builder_.node(node, frames_[frame]);
      known[at] = node;
    }
    return node;
  }

 private:
  uint32_t frame_of(const trace::CodeFrame& code, const trace::NameFilter& user) {
    std::string file = trace_.names[code.file];
    if (code.kind == trace::FrameKind::kPython && code.line != 0) {
      file += ":" + std::to_string(code.line);
    }
    return builder_.frame(
        {trace_.names[code.function], std::move(file),
         is_user_code(trace_, code, user) ? FrameClass::kUser : FrameClass::kLibrary});
  }

  const trace::Trace& trace_;
  const bool native_;
  TreeBuilder& builder_;
  std::vector<uint32_t> frames_;
  std::vector<bool> is_folded_;                    // by frame
  std::map<int32_t, std::vector<int32_t>> nodes_;  // by root and node of Trace::stacks
};

Status add_samples(const trace::Trace& trace, const TreeOptions& options, TreeBuilder& builder) {
  Threads threads(trace, options, builder);
  StackNodes stacks(trace, options, builder);
  SONDE_TRY(stacks.prepare(options.user));
  const auto add = [&](const auto& rows, const std::vector<int64_t>& ns) {
    for (size_t i = 0; i < ns.size(); ++i) {
      if (ns[i] <= 0 || !threads.wants(rows.thread[i])) continue;
      builder.add(stacks.node(threads.root(rows.thread[i]), rows.stack[i]), ns[i], 1);
    }
  };
  add(trace.samples, trace.samples.cpu_ns);
  if (options.weight == Weight::kWall) add(trace.blocked, trace.blocked.wall_ns);
  return ok_status();
}

class TreeOfCalls {
 public:
  TreeOfCalls(const trace::Trace& trace, const TreeOptions& options, TreeBuilder& builder)
      : trace_(trace),
        options_(options),
        builder_(builder),
        threads_(trace, options, builder),
        calls_(trace::build_op_tree(trace)),
        names_(trace),
        stacks_(trace, options, builder),
        nodes_(trace.apis.size(), kNone) {}

  Status build() {
    SONDE_TRY(stacks_.prepare(options_.user));
    SONDE_ASSIGN(user_, trace::UserFrames::create(trace_, options_.user));
    if (options_.weight == Weight::kGpu) {
      note_python_stacks();
      add_ops();
    } else {
      add_calls();
    }
    return ok_status();
  }

 private:
  bool is_time_of_a_thread(size_t api) const {
    const trace::ApiKind kind = trace_.apis.kind[api];
    return trace_.api_ns(api) > 0 && threads_.wants(trace_.apis.thread[api]) &&
           kind != trace::ApiKind::kDeviceSync && kind != trace::ApiKind::kDeviceMarker;
  }

  void add_calls() {
    const std::vector<int64_t> self_ns = trace::self_times(trace_, [](size_t) { return true; });
    for (size_t i = 0; i < trace_.apis.size(); ++i) {
      if (is_time_of_a_thread(i)) builder_.add(node(static_cast<Row>(i)), self_ns[i], 1);
    }
  }

  void add_ops() {
    for (size_t op = 0; op < trace_.ops.size(); ++op) {
      const Row api = trace_.ops.api[op];
      const bool filtered = options_.pid || options_.tid;
      if (api == kNone ? filtered : !threads_.wants(thread_of(api))) continue;
      const int32_t parent =
          api == kNone
              ? builder_.node(kNone, builder_.frame({"(unattributed)", "", FrameClass::kRuntime}))
              : node_of_launch(api);
      const uint32_t frame =
          builder_.frame({trace_.names[trace_.label(op)], "", FrameClass::kDevice});
      builder_.add(builder_.node(parent, frame), trace_.op_ns(op), 1);
    }
  }

  // Callers stand before what they called.
  void note_python_stacks() {
    const trace::CallStacks& stacks = trace_.stacks;
    has_python_.resize(stacks.size());
    for (size_t i = 0; i < stacks.size(); ++i) {
      const int32_t parent = stacks.parent[i];
      has_python_[i] = stacks.frames[stacks.frame[i]].kind == trace::FrameKind::kPython ||
                       (parent != kNone && has_python_[static_cast<size_t>(parent)]);
    }
  }

  // Below its stack a call has the operators and ranges around it; Python's frames only once.
  int32_t node_of_launch(Row api) {
    const int32_t stack = trace_.stack_of(api);
    if (stack == kNone) return node(api);
    std::vector<size_t> path;
    for (Row at = api; at != kNone; at = calls_.parent[static_cast<size_t>(at)]) {
      const auto row = static_cast<size_t>(at);
      if (has_python_[static_cast<size_t>(stack)] && trace::is_python(trace_, row)) continue;
      path.push_back(row);
    }
    int32_t node = stacks_.node(threads_.root(thread_of(api)), stack);
    for (size_t i = path.size(); i-- > 0;) node = builder_.node(node, frame_of(path[i]));
    return node;
  }

  uint32_t thread_of(Row api) const { return trace_.apis.thread[static_cast<size_t>(api)]; }

  int32_t node(Row api) {
    std::vector<Row> path;
    Row at = api;
    for (; at != kNone && nodes_[static_cast<size_t>(at)] == kNone;
         at = calls_.parent[static_cast<size_t>(at)]) {
      path.push_back(at);
    }
    int32_t node = at == kNone ? threads_.root(thread_of(api)) : nodes_[static_cast<size_t>(at)];
    for (size_t i = path.size(); i-- > 0;) {
      const auto row = static_cast<size_t>(path[i]);
      node = nodes_[row] = builder_.node(node, frame_of(row));
    }
    return node;
  }

  uint32_t frame_of(size_t api) {
    const std::string& text = names_.text(trace_.apis.label[api]);
    FrameClass frame_class = FrameClass::kRuntime;
    if (trace::is_python(trace_, api)) {
      frame_class = user_->contains(api) ? FrameClass::kUser : FrameClass::kLibrary;
    } else if (trace_.apis.kind[api] == trace::ApiKind::kMarker) {
      frame_class = FrameClass::kUser;
    } else if (trace_.apis.kind[api] == trace::ApiKind::kOperator) {
      frame_class = FrameClass::kLibrary;
    }
    return builder_.frame({text, "", frame_class});
  }

  const trace::Trace& trace_;
  const TreeOptions& options_;
  TreeBuilder& builder_;
  Threads threads_;
  trace::OpTree calls_;
  trace::GroupNames names_;
  std::optional<trace::UserFrames> user_;
  StackNodes stacks_;
  std::vector<bool> has_python_;  // by node of Trace::stacks: it or a caller is Python's
  std::vector<int32_t> nodes_;    // by row of Trace::apis
};

}  // namespace

const char* name_of(FrameClass frame_class) {
  constexpr const char* kNames[] = {"thread", "user", "library", "call", "device"};
  return kNames[static_cast<size_t>(frame_class)];
}

Result<trace::NameFilter> user_filter(const std::string& pattern) {
  if (pattern.empty()) return trace::NameFilter();
  return trace::NameFilter::compile(pattern, "--user");
}

bool is_user_code(const trace::Trace& trace, const trace::CodeFrame& code,
                  const trace::NameFilter& user) {
  if (user.wants_all()) return !code.is_library;
  return user.wants(trace.names[code.file] + ": " + trace.names[code.function]);
}

int64_t CallTree::whole_ns() const {
  int64_t whole = 0;
  for (const TreeNode& node : nodes) whole += node.parent == kNone ? node.total_ns : 0;
  return whole;
}

std::vector<std::vector<uint32_t>> CallTree::children() const {
  std::vector<std::vector<uint32_t>> children(nodes.size() + 1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const int32_t parent = nodes[i].parent;
    const size_t of = parent == kNone ? nodes.size() : static_cast<size_t>(parent);
    children[of].push_back(static_cast<uint32_t>(i));
  }
  for (auto& list : children) {
    std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
      if (nodes[a].total_ns != nodes[b].total_ns) return nodes[a].total_ns > nodes[b].total_ns;
      const TreeFrame &x = frames[nodes[a].frame], &y = frames[nodes[b].frame];
      return x.text != y.text ? x.text < y.text : x.file < y.file;
    });
  }
  return children;
}

bool is_sampled(const trace::Trace& trace, Weight weight) {
  return weight == Weight::kCpu || (weight == Weight::kWall && trace.blocked.size() != 0);
}

Result<CallTree> call_tree_of(const trace::Trace& trace, const TreeOptions& options) {
  TreeBuilder builder;
  if (is_sampled(trace, options.weight)) {
    SONDE_TRY(add_samples(trace, options, builder));
  } else {
    SONDE_TRY(TreeOfCalls(trace, options, builder).build());
  }
  return builder.take();
}

CallTree upside_down(const CallTree& tree) {
  TreeBuilder builder;
  std::vector<uint32_t> frames;
  for (const TreeFrame& frame : tree.frames) frames.push_back(builder.frame(frame));
  for (const TreeNode& node : tree.nodes) {
    if (node.self_ns <= 0) continue;
    int32_t at = builder.node(kNone, frames[node.frame]);
    for (int32_t up = node.parent; up != kNone;) {
      const TreeNode& caller = tree.nodes[static_cast<size_t>(up)];
      at = builder.node(at, frames[caller.frame]);
      up = caller.parent;
    }
    builder.add(at, node.self_ns, node.count);
  }
  return builder.take();
}

}  // namespace sonde::analysis
