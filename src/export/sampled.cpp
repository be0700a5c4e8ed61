#include "export/sampled.h"

#include <fmt/format.h>

#include "export/titles.h"
#include "store/scan.h"

namespace sonde::exporting {

namespace {

class SampleLoader {
 public:
  SampleLoader(store::Database& database, const Options& options, StackBuilder& builder)
      : database_(database), options_(options), builder_(builder) {}

  Status load() {
    SONDE_TRY(load_frames());
    SONDE_TRY(load_owners());
    return store::scan(database_, "process_id, tid, time_ns, stack_id, cpu_ns", "sonde_sample", {},
                       [&](const store::Row& row) { add(row); });
  }

 private:
  struct Frame {
    std::string text;
    int64_t inlined_into = 0;
  };
  struct Stack {
    int64_t parent = 0, frame = 0;
  };
  using Owner = std::pair<int64_t, int64_t>;  // process and thread

  Status load_frames() {
    SONDE_TRY(store::scan(database_, "id, function, address, inlined_into", "sonde_frame", {},
                          [&](const store::Row& row) {
                            Frame& frame = frames_[row.integer(0)];
                            frame.text = row.is_null(1) ? fmt::format("{:#x}", row.integer(2))
                                                        : std::string(row.text(1));
                            frame.inlined_into = row.integer_or(3, 0);
                          }));
    return store::scan(database_, "id, parent_id, frame_id", "sonde_stack", {},
                       [&](const store::Row& row) {
                         stacks_[row.integer(0)] = {row.integer_or(1, 0), row.integer(2)};
                       });
  }

  Status load_owners() {
    SONDE_TRY(store::scan(database_, "id, pid, command, rank", "v_process", {},
                          [&](const store::Row& row) {
                            Process& process = processes_[row.integer(0)];
                            process.pid = row.integer(1);
                            process.command = row.text(2);
                            process.rank = row.integer_or(3, -1);
                          }));
    return store::scan(database_, "process_id, tid, name", "v_thread", {},
                       [&](const store::Row& row) {
                         threads_[{row.integer(0), row.integer(1)}] = row.text(2);
                       });
  }

  void add(const store::Row& row) {
    const int64_t time_ns = row.integer(2);
    if (time_ns < options_.from_ns || time_ns >= options_.to_ns) return;
    const Process& process = processes_[row.integer(0)];
    if (options_.rank && process.rank != *options_.rank) return;
    const Owner owner{row.integer(0), row.integer(1)};
    builder_.at(stack_node(owner, row.integer(3))).cpu_ns += row.integer(4);
  }

  uint32_t owner_node(const Owner& owner) {
    const Process& process = processes_[owner.first];
    const Thread thread{process.pid, owner.second, threads_[owner]};
    return builder_.node(builder_.node(kNone, process_title(process)), thread_title(thread, 0));
  }

  // Stacks are deep and few: the way up is remembered.
  uint32_t stack_node(const Owner& owner, int64_t id) {
    std::vector<int64_t> path;  // from the innermost
    uint32_t node = kNone;
    for (; node == kNone; id = stacks_[id].parent) {
      const auto known = nodes_.find({owner, id});
      if (known != nodes_.end()) {
        node = known->second;
        break;
      }
      const bool sound = id > 0 && path.size() < kMostFrames && stacks_.count(id) != 0;
      if (!sound) {
        node = owner_node(owner);
        break;
      }
      path.push_back(id);
    }
    for (size_t i = path.size(); i-- > 0;) {
      node = frame_node(node, stacks_[path[i]].frame, 0);
      nodes_[{owner, path[i]}] = node;
    }
    return node;
  }

  uint32_t frame_node(uint32_t parent, int64_t id, uint32_t depth) {
    const Frame& frame = frames_[id];
    if (frame.inlined_into != 0 && depth < kMostInlined) {
      parent = frame_node(parent, frame.inlined_into, depth + 1);
    }
    return builder_.node(parent, frame.text);
  }

  static constexpr size_t kMostFrames = 4096;  // in a damaged file stacks may be rings
  static constexpr uint32_t kMostInlined = 64;

  store::Database& database_;
  const Options& options_;
  StackBuilder& builder_;
  std::unordered_map<int64_t, Frame> frames_;
  std::unordered_map<int64_t, Stack> stacks_;
  std::map<int64_t, Process> processes_;
  std::map<Owner, std::string> threads_;
  std::map<std::pair<Owner, int64_t>, uint32_t> nodes_;
};

}  // namespace

Status add_samples(store::Reader& reader, const Options& options, StackBuilder& builder) {
  SONDE_ASSIGN(const bool there, reader.database().has_table("sonde_sample"));
  if (!there) return ok_status();
  return SampleLoader(reader.database(), options, builder).load();
}

}  // namespace sonde::exporting
