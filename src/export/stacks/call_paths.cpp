#include "export/stacks/call_paths.h"

#include <algorithm>
#include <map>

namespace sonde::exporting {

namespace {

// The paths of one thread, in the order in which they are met.
class ThreadPaths {
 public:
  ThreadPaths(const Events& events, uint32_t thread) : events_(events), thread_(thread) {}

  void walk(const std::vector<uint32_t>& apis) {
    struct Open {
      uint32_t path;
      int64_t end_ns;
      int64_t self_ns;
    };
    std::vector<Open> open;
    const auto close = [&] {
      paths_[open.back().path].exclusive.add(open.back().self_ns);
      open.pop_back();
    };
    for (const uint32_t index : apis) {
      const Api& api = events_.apis[index];
      while (!open.empty() && open.back().end_ns <= api.start_ns) close();
      const uint32_t parent = open.empty() ? kNone : open.back().path;
      const int64_t end_ns = open.empty() ? api.end_ns : std::min(api.end_ns, open.back().end_ns);
      const int64_t duration_ns = end_ns - api.start_ns;
      const uint32_t path = child(parent, events_.title(api));
      paths_[path].inclusive.add(duration_ns);
      if (parent != kNone) open.back().self_ns -= duration_ns;
      open.push_back({path, end_ns, duration_ns});
    }
    while (!open.empty()) close();
  }

  void append_to(std::vector<CallPath>& all) const {
    std::vector<uint32_t> next(roots_.rbegin(), roots_.rend());
    while (!next.empty()) {
      const uint32_t path = next.back();
      next.pop_back();
      all.push_back(paths_[path]);
      next.insert(next.end(), children_[path].rbegin(), children_[path].rend());
    }
  }

 private:
  uint32_t child(uint32_t parent, std::string_view name) {
    const auto [entry, is_new] =
        numbers_.try_emplace({parent, name}, static_cast<uint32_t>(paths_.size()));
    if (is_new) {
      CallPath path;
      path.name = name;
      path.thread = thread_;
      path.depth = parent == kNone ? 0 : paths_[parent].depth + 1;
      paths_.push_back(path);
      children_.emplace_back();
      (parent == kNone ? roots_ : children_[parent]).push_back(entry->second);
    }
    return entry->second;
  }

  const Events& events_;
  uint32_t thread_;
  std::vector<CallPath> paths_;
  std::vector<uint32_t> roots_;
  std::vector<std::vector<uint32_t>> children_;
  std::map<std::pair<uint32_t, std::string_view>, uint32_t> numbers_;
};

}  // namespace

std::vector<CallPath> call_paths_of(const Events& events) {
  const std::vector<std::vector<uint32_t>> by_thread = events.calls_by_thread();
  std::vector<uint32_t> threads;
  for (uint32_t thread = 0; thread < by_thread.size(); ++thread) {
    if (!by_thread[thread].empty()) threads.push_back(thread);
  }
  std::stable_sort(threads.begin(), threads.end(), [&](uint32_t a, uint32_t b) {
    return events.apis[by_thread[a].front()].start_ns < events.apis[by_thread[b].front()].start_ns;
  });
  std::vector<CallPath> paths;
  for (const uint32_t thread : threads) {
    ThreadPaths of_thread(events, thread);
    of_thread.walk(by_thread[thread]);
    of_thread.append_to(paths);
  }
  return paths;
}

}  // namespace sonde::exporting
