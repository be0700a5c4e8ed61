#include "export/stacks/sampled.h"

#include <map>

#include "export/events/call_samples.h"
#include "export/events/titles.h"
#include "store/scan.h"

namespace sonde::exporting {

namespace {

using Owner = std::pair<int64_t, int64_t>;  // process and thread

class SampledPaths {
 public:
  SampledPaths(const CallSamples& samples, StackBuilder& builder)
      : samples_(samples), builder_(builder) {}

  Status add(store::Database& database) {
    SONDE_TRY(load_owners(database));
    for (const CallSample& sample : samples_.samples) {
      StackNode& node = builder_.at(node_of({sample.process_id, sample.tid}, sample));
      node.cpu_ns += sample.cpu_ns;
      node.blocked_ns += sample.blocked_ns;
      ++node.samples;
    }
    return ok_status();
  }

 private:
  Status load_owners(store::Database& database) {
    SONDE_TRY(store::scan(database, "id, pid, command, rank", "v_process", {},
                          [&](const store::Row& row) {
                            Process& process = processes_[row.integer(0)];
                            process.pid = row.integer(1);
                            process.command = row.text(2);
                            process.rank = row.integer_or(3, -1);
                          }));
    return store::scan(database, "process_id, tid, name", "v_thread", {},
                       [&](const store::Row& row) {
                         threads_[{row.integer(0), row.integer(1)}] = row.text(2);
                       });
  }

  uint32_t owner_node(const Owner& owner) {
    const Process& process = processes_[owner.first];
    const Thread thread{process.pid, owner.second, threads_[owner]};
    return builder_.node(builder_.node(kNone, process_title(process)), thread_title(thread, 0));
  }

  // Stacks are deep and few: the way up is remembered.
  uint32_t node_of(const Owner& owner, const CallSample& sample) {
    std::vector<uint32_t> path;  // from the innermost
    uint32_t node = kNone, stack = sample.stack;
    for (; stack != kNone; stack = samples_.stacks[stack].parent) {
      const auto known = nodes_.find({owner, stack});
      if (known != nodes_.end()) {
        node = known->second;
        break;
      }
      path.push_back(stack);
    }
    if (node == kNone) node = owner_node(owner);
    for (size_t i = path.size(); i-- > 0;) {
      node = builder_.node(node, samples_.frames[samples_.stacks[path[i]].frame].text);
      nodes_[{owner, path[i]}] = node;
    }
    return node;
  }

  const CallSamples& samples_;
  StackBuilder& builder_;
  std::map<int64_t, Process> processes_;
  std::map<Owner, std::string> threads_;
  std::map<std::pair<Owner, uint32_t>, uint32_t> nodes_;
};

}  // namespace

Status add_samples(store::Reader& reader, const Options& options, StackBuilder& builder) {
  SONDE_ASSIGN(const CallSamples samples, load_call_samples(reader, options));
  return SampledPaths(samples, builder).add(reader.database());
}

}  // namespace sonde::exporting
