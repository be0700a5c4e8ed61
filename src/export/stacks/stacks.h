// Stacks: where the time went, as a tree of call paths. A path is a process, a thread, and the
// calls and ranges open in that thread, outermost first; device operations hang below the call
// that launched them. Used by the exporters that write profiles instead of timelines.
//
// Sampled call stacks hang below the thread as well, as paths of their own with CPU time.
//
// Host time of a path is its self time: the time it was open minus that of the slices within it. A
// slice that overlaps its neighbour without nesting is cut where its parent ends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "export/events/events.h"
#include "export/output/sink.h"

namespace sonde::exporting {

struct StackNode {
  uint32_t parent = kNone;
  uint32_t frame = 0;  // index into Stacks::frames
  int64_t host_ns = 0, device_ns = 0, cpu_ns = 0;
  int64_t blocked_ns = 0;  // sampled too, of threads that did not run
  uint64_t calls = 0, samples = 0;
};

struct Stacks {
  std::vector<std::string> frames;  // distinct texts
  std::vector<StackNode> nodes;     // a parent stands before its children

  // The frames of a node, outermost first.
  std::vector<uint32_t> path(uint32_t node) const;
};

// Makes the nodes of Stacks: equal paths are one.
class StackBuilder {
 public:
  uint32_t node(uint32_t parent, std::string_view text);
  StackNode& at(uint32_t node) { return stacks_.nodes[node]; }
  Stacks take() { return std::move(stacks_); }

 private:
  uint32_t frame(std::string_view text);
  Stacks stacks_;
  std::unordered_map<std::string, uint32_t> frame_ids_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> node_ids_;
};

// The stacks of calls, operations and CPU samples in one file.
Result<Stacks> stacks_of(store::Reader& reader, const Events& events, const Options& options);

// What a profile of these events holds: all calls, operations and samples, no
// counters.
Counts profile_counts(const Events& events, const Stacks& stacks);

// An exporter's work around what write(events, stacks, sink) puts into a file.
template <typename Write>
Result<Counts> write_profile(store::Reader& reader, const std::string& path, const Options& options,
                             Sink::Encoding encoding, const Write& write) {
  SONDE_ASSIGN(const Events events, load_events(reader, options));
  SONDE_ASSIGN(Stacks stacks, stacks_of(reader, events, options));
  SONDE_ASSIGN(Sink sink, Sink::create(path, encoding));
  write(events, stacks, sink);
  SONDE_TRY(sink.finish());
  return profile_counts(events, stacks);
}

}  // namespace sonde::exporting
