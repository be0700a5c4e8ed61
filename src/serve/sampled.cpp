#include "serve/sampled.h"

#include <algorithm>
#include <numeric>

#include "analysis/stacks/call_tree.h"

namespace sonde::serve {
namespace {

constexpr int64_t kLittle = 10;  // times what a sample stands for

// One thread after the other, by time.
std::vector<uint32_t> by_thread(const trace::Samples& samples) {
  std::vector<uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (samples.thread[a] != samples.thread[b]) return samples.thread[a] < samples.thread[b];
    return samples.time_ns[a] != samples.time_ns[b] ? samples.time_ns[a] < samples.time_ns[b]
                                                    : a < b;
  });
  return order;
}

// Outermost first. Of Python the line may be another one in each sample.
class Frames {
 public:
  explicit Frames(const trace::Trace& trace) : stacks_(trace.stacks) {
    for (const trace::CodeFrame& code : stacks_.frames) {
      is_folded_.push_back(code.is_interpreter);
    }
  }
  void of(int32_t node, std::vector<uint32_t>& frames) const {
    frames.clear();
    for (; node != trace::kNone; node = stacks_.parent[static_cast<size_t>(node)]) {
      const uint32_t frame = stacks_.frame[static_cast<size_t>(node)];
      if (!is_folded_[frame]) frames.push_back(frame);
    }
    std::reverse(frames.begin(), frames.end());
  }
  bool are_same(uint32_t a, uint32_t b) const {
    const trace::CodeFrame &one = stacks_.frames[a], &other = stacks_.frames[b];
    return a == b ||
           (one.function == other.function && one.file == other.file && one.kind == other.kind);
  }

 private:
  const trace::CallStacks& stacks_;
  std::vector<bool> is_folded_;
};

}  // namespace

std::vector<SampledFrame> sampled_frames(const trace::Trace& trace) {
  const trace::Samples& samples = trace.samples;
  const Frames code(trace);
  std::vector<SampledFrame> all;
  std::vector<size_t> open;  // of the last sample, by depth: indices into `all`
  std::vector<uint32_t> frames;
  int64_t last_ns = 0;
  uint32_t thread = 0;
  for (const uint32_t i : by_thread(samples)) {
    const int64_t end_ns = samples.time_ns[i], cpu_ns = std::max<int64_t>(samples.cpu_ns[i], 1);
    int64_t start_ns = end_ns - cpu_ns;
    const bool is_first = open.empty() || samples.thread[i] != thread;
    const bool goes_on = !is_first && start_ns - last_ns < kLittle * cpu_ns;
    if (goes_on && start_ns - last_ns < cpu_ns) start_ns = last_ns;
    if (!goes_on) open.clear();
    thread = samples.thread[i];
    last_ns = end_ns;
    code.of(samples.stack[i], frames);
    size_t same = 0;
    while (same < std::min(open.size(), frames.size()) &&
           code.are_same(all[open[same]].frame, frames[same])) {
      ++same;
    }
    open.resize(same);
    for (const size_t each : open) {
      all[each].time.end_ns = end_ns;
      all[each].cpu_ns += cpu_ns;
    }
    for (size_t depth = same; depth < frames.size(); ++depth) {
      open.push_back(all.size());
      all.push_back({{start_ns, end_ns}, frames[depth], thread, cpu_ns});
    }
  }
  return all;
}

}  // namespace sonde::serve
