#include "export/stacks/stacks.h"

#include <algorithm>

#include "base/numbered.h"
#include "export/events/titles.h"
#include "export/stacks/sampled.h"

namespace sonde::exporting {

uint32_t StackBuilder::frame(std::string_view text) {
  return numbered(frame_ids_, stacks_.frames, std::string(text));
}

uint32_t StackBuilder::node(uint32_t parent, std::string_view text) {
  const uint32_t frame_id = frame(text);
  return numbered(node_ids_, stacks_.nodes, {parent, frame_id}, StackNode{parent, frame_id});
}

namespace {

class Builder {
 public:
  Builder(const Events& events, StackBuilder& stacks) : events_(events), stacks_(stacks) {}

  void build() {
    node_of_api_.assign(events_.api_count(), kNone);
    const std::vector<std::vector<uint32_t>> by_thread = events_.calls_by_thread();
    for (uint32_t thread = 0; thread < by_thread.size(); ++thread) {
      if (!by_thread[thread].empty()) walk(thread, by_thread[thread]);
    }
    for (const Op& op : events_.ops) hang(op);
  }

 private:
  struct Open {
    uint32_t node;
    int64_t end_ns;
  };

  uint32_t thread_node(uint32_t thread) {
    const Thread& t = events_.threads[thread];
    for (const Process& process : events_.processes) {
      if (process.pid == t.pid) {
        return stacks_.node(stacks_.node(kNone, process_title(process)), thread_title(t, 0));
      }
    }
    return stacks_.node(kNone, thread_title(t, 0));
  }

  void walk(uint32_t thread, const std::vector<uint32_t>& apis);
  void hang(const Op& op);

  const Events& events_;
  StackBuilder& stacks_;
  std::vector<uint32_t> node_of_api_;
};

void Builder::walk(uint32_t thread, const std::vector<uint32_t>& apis) {
  std::vector<Open> open = {{thread_node(thread), INT64_MAX}};
  for (const uint32_t index : apis) {
    const Api& api = events_.apis[index];
    while (open.back().end_ns <= api.start_ns) open.pop_back();
    const Open parent = open.back();
    const int64_t end_ns = std::min(api.end_ns, parent.end_ns);
    const uint32_t self = stacks_.node(parent.node, events_.title(api));
    const int64_t length = end_ns - api.start_ns;
    stacks_.at(self).host_ns += length;
    ++stacks_.at(self).calls;
    if (open.size() > 1) stacks_.at(parent.node).host_ns -= length;
    node_of_api_[index] = self;
    open.push_back({self, end_ns});
  }
}

void Builder::hang(const Op& op) {
  const uint32_t parent = op.first_link == kNone
                              ? stacks_.node(kNone, "(launched by no recorded call)")
                              : node_of_api_[events_.links[op.first_link].api];
  StackNode& leaf = stacks_.at(stacks_.node(parent, events_.names.at(op.name)));
  leaf.device_ns += op.duration_ns();
  ++leaf.calls;
}

}  // namespace

std::vector<uint32_t> Stacks::path(uint32_t node) const {
  std::vector<uint32_t> path;
  for (; node != kNone; node = nodes[node].parent) path.push_back(nodes[node].frame);
  std::reverse(path.begin(), path.end());
  return path;
}

Result<Stacks> stacks_of(store::Reader& reader, const Events& events, const Options& options) {
  StackBuilder stacks;
  Builder(events, stacks).build();
  SONDE_TRY(add_samples(reader, options, stacks));
  return stacks.take();
}

Counts profile_counts(const Events& events, const Stacks& stacks) {
  Counts counts;
  counts.ops = events.ops.size();
  counts.apis = events.api_count();
  for (const StackNode& node : stacks.nodes) counts.samples += node.samples;
  counts.skipped = events.skipped + events.samples.size();
  return counts;
}

}  // namespace sonde::exporting
