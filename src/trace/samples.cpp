#include "trace/samples.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/numbered.h"
#include "base/strings.h"
#include "store/scan.h"
#include "trace/modules.h"
#include "trace/row_index.h"
#include "trace/trace.h"

namespace sonde::trace {

namespace {

constexpr int kMostInlined = 64;  // in a damaged file inlined functions may be rings

class SampleLoader {
 public:
  SampleLoader(store::Database& database, const Request& request, Trace& trace)
      : database_(database),
        request_(request),
        trace_(trace),
        code_(trace.stacks),
        names_(trace.names),
        threads_(trace.threads) {}

  Status load() {
    SONDE_TRY(load_frames());
    SONDE_TRY(load_stacks());
    translate_launches();
    if (!request_.samples) return ok_status();
    SONDE_TRY(load_processes());
    SONDE_TRY(store::scan(
        database_, "process_id, tid, time_ns, stack_id, cpu_ns",
        "(SELECT * FROM sonde_sample ORDER BY time_ns, id)", {},
        [&](const store::Row& row) { add(row, trace_.samples, trace_.samples.cpu_ns); }));
    return store::scan_of(
        database_, "sonde_blocked", "process_id, tid, time_ns, stack_id, wall_ns", "sonde_blocked",
        [&](const store::Row& row) { add(row, trace_.blocked, trace_.blocked.wall_ns); });
  }

 private:
  struct Frame {
    uint32_t index = 0;
    int64_t inlined_into = 0;
    bool in_library = false;  // its module
  };

  Status load_frames() {
    Modules modules;
    SONDE_TRY(store::scan(database_, "id, path", "sonde_module", {}, [&](const store::Row& row) {
      modules.add(row.integer(0), valid_utf8(row.text(1)));
    }));
    return store::scan(
        database_, "id, kind, module_id, address, function, file, line, is_library, inlined_into",
        "sonde_frame", {}, [&](const store::Row& row) {
          CodeFrame frame;
          const std::string& module = modules.path(row.integer_or(2, 0));
          frame.kind = row.text(1) == "python" ? FrameKind::kPython : FrameKind::kNative;
          frame.function = names_.index(row.is_null(4) ? fmt::format("{:#x}", row.integer_or(3, 0))
                                                       : valid_utf8(row.text(4)));
          frame.module = names_.index(module);
          frame.file = row.is_null(5) ? frame.module : names_.index(valid_utf8(row.text(5)));
          frame.line = row.integer_or(6, 0);
          // What a function was inlined into has no module; load_stacks() finds it.
          const bool in_library = row.is_null(7) ? modules.is_library(module) : row.integer(7) != 0;
          frame.is_library = in_library || is_system_header(trace_.names[frame.file]);
          frame.is_interpreter = frame.kind == FrameKind::kNative && is_interpreter_path(module);
          frames_[row.integer(0)] = {static_cast<uint32_t>(code_.frames.size()),
                                     row.integer_or(8, 0), in_library};
          code_.frames.push_back(frame);
        });
  }

  // Callers have lower numbers than what they call: one that has not is taken as the outermost.
  Status load_stacks() {
    return store::scan(database_, "id, parent_id, frame_id", "sonde_stack ORDER BY id", {},
                       [&](const store::Row& row) {
                         const auto parent = stacks_.find(row.integer_or(1, 0));
                         int32_t node = parent == stacks_.end() ? kNone : parent->second;
                         std::vector<uint32_t> inlined;
                         int64_t id = row.integer(2);
                         const Frame* innermost = nullptr;  // the one that has a module
                         for (int depth = 0; depth < kMostInlined; ++depth) {
                           const auto frame = frames_.find(id);
                           if (frame == frames_.end()) break;
                           CodeFrame& code = code_.frames[frame->second.index];
                           if (innermost == nullptr) {
                             innermost = &frame->second;
                           } else if (code.kind == FrameKind::kNative) {
                             code.is_library =
                                 innermost->in_library || is_system_header(trace_.names[code.file]);
                             code.is_interpreter = code_.frames[innermost->index].is_interpreter;
                             code.module = code_.frames[innermost->index].module;
                           }
                           inlined.push_back(frame->second.index);
                           id = frame->second.inlined_into;
                           if (id == 0) break;
                         }
                         for (size_t i = inlined.size(); i-- > 0;) node = push(node, inlined[i]);
                         stacks_[row.integer(0)] = node;
                       });
  }

  int32_t push(int32_t parent, uint32_t frame) {
    code_.parent.push_back(parent);
    code_.frame.push_back(frame);
    return static_cast<int32_t>(code_.size()) - 1;
  }

  void translate_launches() {
    for (int32_t& stack : trace_.apis.stack) {
      if (stack == kNone) continue;
      const auto node = stacks_.find(stack);
      if (node == stacks_.end() || node->second == kNone) ++code_.bad_samples;
      stack = node == stacks_.end() ? kNone : node->second;
    }
  }

  Status load_processes() {
    return store::scan(database_, "id, pid, rank", "v_process", {}, [&](const store::Row& row) {
      Process process{row.integer(1), {}};
      if (!row.is_null(2)) process.rank = row.integer(2);
      if (request_.rank && process.rank != request_.rank) return;
      processes_[row.integer(0)] = index_of(process);
    });
  }

  int32_t index_of(const Process& process) {
    for (size_t i = 0; i < trace_.processes.size(); ++i) {
      if (trace_.processes[i].pid == process.pid) return static_cast<int32_t>(i);
    }
    trace_.processes.push_back(process);
    return static_cast<int32_t>(trace_.processes.size()) - 1;
  }

  struct Place {
    uint32_t thread;
    int32_t stack;
  };
  // The index of a wanted and valid row.
  std::optional<Place> place_of(const store::Row& row) {
    const Interval& window = request_.window.select;
    const int64_t time_ns = row.integer(2);
    if (time_ns < window.start_ns || time_ns >= window.end_ns) return std::nullopt;
    const auto process = processes_.find(row.integer(0));
    if (process == processes_.end()) return std::nullopt;  // of a rank that is not wanted
    const auto stack = stacks_.find(row.integer(3));
    if (stack == stacks_.end() || stack->second == kNone || row.integer(4) < 0) {
      ++code_.bad_samples;
      return std::nullopt;
    }
    return Place{threads_.index({process->second, row.integer(1)}), stack->second};
  }

  template <typename Columns>  // Samples or Blocked
  void add(const store::Row& row, Columns& to, std::vector<int64_t>& ns) {
    const auto place = place_of(row);
    if (!place) return;
    to.time_ns.push_back(row.integer(2));
    ns.push_back(row.integer(4));
    to.thread.push_back(place->thread);
    to.stack.push_back(place->stack);
  }

  store::Database& database_;
  const Request& request_;
  Trace& trace_;
  CallStacks& code_;
  TextNumbering names_;
  Numbering<Thread> threads_;
  std::unordered_map<int64_t, Frame> frames_;
  std::unordered_map<int64_t, int32_t> stacks_;
  std::unordered_map<int64_t, int32_t> processes_;
};

}  // namespace

Status load_launch_stacks(store::Database& database, const std::vector<int64_t>& api_ids,
                          Trace& trace) {
  SONDE_ASSIGN(const bool there, database.has_table("sonde_launch_stack"));
  if (!there) return ok_status();
  RowIndex index(api_ids);
  auto& stacks = trace.apis.stack;
  return store::scan(database, "api_id, stack_id", "sonde_launch_stack", {},
                     [&](const store::Row& row) {
                       const auto api = index.row(row.integer(0));
                       const int64_t stack = row.integer(1);
                       if (!api || stack < 0 || stack > INT32_MAX) return;
                       if (stacks.empty()) stacks.assign(api_ids.size(), kNone);
                       stacks[*api] = static_cast<int32_t>(stack);
                     });
}

Status load_samples(store::Reader& reader, const Request& request, Trace& trace) {
  SONDE_ASSIGN(const bool there, reader.database().has_table("sonde_sample"));
  if (!there) return ok_status();
  return SampleLoader(reader.database(), request, trace).load();
}

}  // namespace sonde::trace
