#include "export/events/call_samples.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/strings.h"
#include "base/value_or.h"
#include "store/scan.h"

namespace sonde::exporting {

namespace {

constexpr uint32_t kNone = IdIndex::kNone;
constexpr uint32_t kMostInlined = 64;  // in a damaged file inlined functions may be rings
constexpr uint32_t kDeepest = 4096;

class SampleLoader {
 public:
  SampleLoader(store::Database& database, const Options& options, CallSamples& loaded)
      : database_(database), options_(options), loaded_(loaded) {}

  Status load() {
    SONDE_TRY(load_frames());
    SONDE_TRY(load_stacks());
    SONDE_TRY(store::scan(database_, "id, pid, rank", "v_process", {}, [&](const store::Row& row) {
      if (options_.rank && (row.is_null(2) || row.integer(2) != *options_.rank)) return;
      pid_of_[row.integer(0)] = row.integer(1);
    }));
    SONDE_TRY(store::scan(database_, "process_id, tid, time_ns, stack_id, cpu_ns", "sonde_sample",
                          {}, [&](const store::Row& row) { add(row, false); }));
    return store::scan_of(database_, "sonde_blocked", "process_id, tid, time_ns, stack_id, wall_ns",
                          "sonde_blocked", [&](const store::Row& row) { add(row, true); });
  }

 private:
  struct Known {
    uint32_t index = 0;
    int64_t inlined_into = 0;
  };

  Status load_frames() {
    std::unordered_map<int64_t, uint32_t> modules;
    SONDE_TRY(store::scan(
        database_, "id, path, build_id", "sonde_module", {}, [&](const store::Row& row) {
          modules[row.integer(0)] = static_cast<uint32_t>(loaded_.modules.size());
          loaded_.modules.push_back({valid_utf8(row.text(1)), valid_utf8(row.text(2))});
        }));
    return store::scan(database_,
                       "id, kind, module_id, address, function, file, line, inlined_into",
                       "sonde_frame", {}, [&](const store::Row& row) {
                         SampleFrame frame;
                         frame.is_python = row.text(1) == "python";
                         const auto module = modules.find(row.integer_or(2, 0));
                         if (module != modules.end()) frame.module = module->second;
                         frame.address = row.integer_or(3, 0);
                         frame.text = row.is_null(4) ? fmt::format("{:#x}", frame.address)
                                                     : valid_utf8(row.text(4));
                         frame.file = valid_utf8(row.text(5));
                         frame.line = row.integer_or(6, 0);
                         frames_[row.integer(0)] = {static_cast<uint32_t>(loaded_.frames.size()),
                                                    row.integer_or(7, 0)};
                         loaded_.frames.push_back(std::move(frame));
                       });
  }

  // Callers have lower numbers than what they call: one that has not is taken as the outermost.
  Status load_stacks() {
    std::unordered_map<uint32_t, uint32_t> depth;
    return store::scan(database_, "id, parent_id, frame_id", "sonde_stack ORDER BY id", {},
                       [&](const store::Row& row) {
                         uint32_t stack = value_or(stacks_, row.integer_or(1, 0), kNone);
                         uint32_t level = stack == kNone ? 0 : depth[stack];
                         if (level > kDeepest) return;
                         std::vector<uint32_t> inlined;
                         for (int64_t id = row.integer(2); inlined.size() < kMostInlined;) {
                           const auto frame = frames_.find(id);
                           if (frame == frames_.end()) break;
                           inlined.push_back(frame->second.index);
                           id = frame->second.inlined_into;
                         }
                         for (size_t i = inlined.size(); i-- > 0;) {
                           loaded_.stacks.push_back({stack, inlined[i]});
                           stack = static_cast<uint32_t>(loaded_.stacks.size()) - 1;
                         }
                         if (stack == kNone) return;
                         depth[stack] = level + 1;
                         stacks_[row.integer(0)] = stack;
                       });
  }

  void add(const store::Row& row, bool blocked) {
    const int64_t time_ns = row.integer(2);
    if (time_ns < options_.from_ns || time_ns >= options_.to_ns) return;
    const auto process = pid_of_.find(row.integer(0));
    const auto stack = stacks_.find(row.integer(3));
    if (process == pid_of_.end() || stack == stacks_.end()) return;
    loaded_.samples.push_back({time_ns, process->first, process->second, row.integer(1),
                               blocked ? 0 : row.integer(4), blocked ? row.integer(4) : 0,
                               stack->second});
  }

  store::Database& database_;
  const Options& options_;
  CallSamples& loaded_;
  std::unordered_map<int64_t, Known> frames_;
  std::unordered_map<int64_t, uint32_t> stacks_;
  std::unordered_map<int64_t, int64_t> pid_of_;
};

}  // namespace

Result<CallSamples> load_call_samples(store::Reader& reader, const Options& options) {
  CallSamples loaded;
  SONDE_ASSIGN(const bool there, reader.database().has_table("sonde_sample"));
  if (there) SONDE_TRY(SampleLoader(reader.database(), options, loaded).load());
  return loaded;
}

}  // namespace sonde::exporting
