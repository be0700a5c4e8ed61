#include "trace/extras.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

#include "store/scan.h"
#include "trace/row_index.h"

namespace sonde::trace {
namespace {

int64_t handle_of(std::string_view text) {
  if (text.substr(0, 2) == "0x") text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? static_cast<int64_t>(value) : kNoStream;
}

// Names that are not in the strings of the file.
class Names {
 public:
  explicit Names(Trace& trace) : trace_(trace) {
    for (size_t i = 0; i < trace.names.size(); ++i) {
      index_of_.emplace(trace.names[i], static_cast<NameId>(i));
    }
  }
  NameId index(const std::string& text) {
    const auto [entry, is_new] =
        index_of_.try_emplace(text, static_cast<NameId>(trace_.names.size()));
    if (is_new) trace_.names.push_back(text);
    return entry->second;
  }

 private:
  Trace& trace_;
  std::unordered_map<std::string, NameId> index_of_;
};

struct Frame {
  NameId name = 0;
  bool is_own_line = false;
};

struct Stack {
  int64_t parent = 0, frame = 0;
  NameId line = 0;
  bool is_looked_up = false;
};

class SampleLoader {
 public:
  SampleLoader(store::Database& database, const Request& request, Trace& trace)
      : database_(database), request_(request), trace_(trace), names_(trace) {}

  Status load() {
    SONDE_TRY(load_frames());
    SONDE_TRY(store::scan(database_, "id, coalesce(parent_id, 0), frame_id", "sonde_stack", {},
                          [&](const store::Row& row) {
                            stacks_[row.integer(0)] = {row.integer(1), row.integer(2)};
                          }));
    if (request_.rank) SONDE_TRY(load_processes(*request_.rank));
    return store::scan(database_, "time_ns, cpu_ns, stack_id, process_id",
                       "(SELECT * FROM sonde_sample ORDER BY time_ns, id)", {},
                       [&](const store::Row& row) { add(row); });
  }

 private:
  Status load_frames() {
    return store::scan(
        database_, "id, kind, function, address, file, line, is_library", "sonde_frame", {},
        [&](const store::Row& row) {
          std::string name = row.is_null(2) ? fmt::format("<address {:#x}>", row.integer_or(3, 0))
                                            : std::string(row.text(2));
          const bool is_python = row.text(1) == "python";
          if (is_python && !row.is_null(4)) {
            name = fmt::format("{}({}): {}", row.text(4), row.integer_or(5, 0), name);
          }
          frames_[row.integer(0)] = {names_.index(name), is_python && row.integer_or(6, 1) == 0};
        });
  }

  Status load_processes(int64_t rank) {
    return store::scan(database_, "id", "v_process WHERE rank = ?1", {rank},
                       [&](const store::Row& row) { processes_.insert(row.integer(0)); });
  }

  void add(const store::Row& row) {
    const int64_t time_ns = row.integer(0);
    if (time_ns < request_.window.select.start_ns || time_ns >= request_.window.select.end_ns) {
      return;
    }
    if (request_.rank && processes_.count(row.integer(3)) == 0) return;
    const auto stack = stacks_.find(row.integer(2));
    if (stack == stacks_.end()) return;
    trace_.samples.time_ns.push_back(time_ns);
    trace_.samples.cpu_ns.push_back(row.integer(1));
    trace_.samples.function.push_back(frames_[stack->second.frame].name);
    trace_.samples.line.push_back(line_of(stack->second));
  }

  NameId line_of(Stack& innermost) {
    if (innermost.is_looked_up) return innermost.line;
    innermost.is_looked_up = true;
    innermost.line = trace_.empty_name;
    const Stack* stack = &innermost;
    for (int depth = 0; depth < kMostFrames; ++depth) {  // in a damaged file stacks may be rings
      const Frame& frame = frames_[stack->frame];
      if (frame.is_own_line) return innermost.line = frame.name;
      const auto parent = stacks_.find(stack->parent);
      if (parent == stacks_.end()) break;
      stack = &parent->second;
    }
    return innermost.line;
  }

  static constexpr int kMostFrames = 4096;

  store::Database& database_;
  const Request& request_;
  Trace& trace_;
  Names names_;
  std::unordered_map<int64_t, Frame> frames_;
  std::unordered_map<int64_t, Stack> stacks_;
  std::set<int64_t> processes_;  // of the wanted rank
};

}  // namespace

Status load_streams(store::Database& database, const std::vector<int64_t>& api_ids, Trace& trace) {
  const bool any_waits = std::any_of(
      trace.names.begin(), trace.names.end(),
      [](const std::string& name) { return is_wait_call(name) || is_record_call(name); });
  SONDE_ASSIGN(const bool kernels, database.has_table("rocpd_kernelapi"));
  SONDE_ASSIGN(const bool copies, database.has_table("rocpd_copyapi"));
  if (!any_waits || !kernels || !copies) return ok_status();
  trace.apis.stream.assign(trace.apis.size(), kNoStream);
  for (const char* table : {"rocpd_kernelapi", "rocpd_copyapi"}) {
    RowIndex index(api_ids);
    SONDE_TRY(store::scan(database, "api_ptr_id, stream", table, {}, [&](const store::Row& row) {
      const auto api = index.row(row.integer(0));
      if (api && !row.is_null(1)) trace.apis.stream[*api] = handle_of(row.text(1));
    }));
  }
  return ok_status();
}

Status load_samples(store::Database& database, const Request& request, Trace& trace) {
  SONDE_ASSIGN(const bool there, database.has_table("sonde_sample"));
  return there ? SampleLoader(database, request, trace).load() : ok_status();
}

Status load_monitors(store::Database& database, const Request& request, Trace& trace) {
  std::map<std::pair<std::string, int64_t>, Monitor> monitors;
  SONDE_TRY(store::scan(database, "monitor_type, device_id, start_ns, end_ns, value",
                        "(SELECT * FROM v_monitor WHERE device_type = 'gpu' ORDER BY start_ns, id)",
                        {}, [&](const store::Row& row) {
                          const int64_t gpu = row.integer_or(1, 0);
                          const Interval time = {row.integer(2), row.integer_or(3, row.integer(2))};
                          if (time.start_ns >= request.window.select.end_ns ||
                              time.end_ns < request.window.select.start_ns ||
                              (request.gpu && *request.gpu != gpu)) {
                            return;
                          }
                          Monitor& monitor = monitors[{std::string(row.text(0)), gpu}];
                          monitor.readings.push_back({time, row.real(4)});
                        }));
  for (auto& [key, monitor] : monitors) {
    monitor.what = key.first;
    monitor.gpu = key.second;
    trace.monitors.push_back(std::move(monitor));
  }
  return ok_status();
}

}  // namespace sonde::trace
