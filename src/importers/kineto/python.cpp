#include "importers/kineto/python.h"

#include <algorithm>
#include <map>

namespace sonde::importers {

void PythonThreads::add(const Api& row, int64_t id, int64_t parent) {
  frames_.push_back({row, std::string(row.args), id, parent});
  if (id != INT64_MIN) frame_of_.emplace(id, frames_.size() - 1);
}

size_t PythonThreads::root_of(size_t frame) const {
  for (size_t steps = 0; steps < frames_.size(); ++steps) {  // a ring of parents must end too
    const auto parent = frame_of_.find(frames_[frame].parent);
    if (parent == frame_of_.end() || parent->second == frame) return frame;
    frame = parent->second;
  }
  return frame;
}

void PythonThreads::finish(Sink& sink) {
  struct Tree {
    int64_t start_ns, end_ns;
    std::vector<size_t> frames;
  };
  std::map<size_t, Tree> trees;  // by root
  for (size_t i = 0; i < frames_.size(); ++i) {
    const Api& row = frames_[i].row;
    Tree& tree = trees.try_emplace(root_of(i), Tree{row.start_ns, row.end_ns, {}}).first->second;
    tree.start_ns = std::min(tree.start_ns, row.start_ns);
    tree.end_ns = std::max(tree.end_ns, row.end_ns);
    tree.frames.push_back(i);
  }
  std::vector<const Tree*> by_start;
  for (const auto& [root, tree] : trees) by_start.push_back(&tree);
  std::sort(by_start.begin(), by_start.end(),
            [](const Tree* a, const Tree* b) { return a->start_ns < b->start_ns; });
  std::vector<int64_t> busy_until;  // of each thread
  for (const Tree* tree : by_start) {
    size_t thread = 0;
    while (thread < busy_until.size() && busy_until[thread] > tree->start_ns) ++thread;
    if (thread == busy_until.size()) busy_until.push_back(0);
    busy_until[thread] = tree->end_ns;
    for (const size_t i : tree->frames) {
      Api row = frames_[i].row;
      row.tid = -1 - static_cast<int64_t>(thread);
      row.args = frames_[i].args;
      sink.api(row);
    }
  }
  frames_.clear();
}

}  // namespace sonde::importers
