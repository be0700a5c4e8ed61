#include <map>
#include <unordered_map>

#include "analysis/arguments.h"
#include "analysis/critical_path/graph.h"
#include "base/number.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using trace::ApiKind;
using trace::kNone;
using trace::Row;

// The handles of a list, "0x55d0,0x55e8"; as many as can be read.
std::vector<int64_t> handles_of(std::string_view list) {
  std::vector<int64_t> handles;
  if (list.starts_with('"')) list.remove_prefix(1);
  while (list.starts_with("0x")) {
    list.remove_prefix(2);
    const auto handle = take_number<uint64_t>(list, 16);
    if (!handle) break;
    handles.push_back(static_cast<int64_t>(*handle));
    if (!list.empty()) list.remove_prefix(1);
  }
  return handles;
}

std::unordered_map<Row, Row> ops_of_calls(const trace::Trace& trace) {
  std::unordered_map<Row, Row> ops;
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const Row api = trace.ops.api[op];
    if (api == kNone || trace.apis.args[static_cast<size_t>(api)] == 0) continue;
    if (wait_lists_want_args(trace.names[trace.apis.name[static_cast<size_t>(api)]])) {
      ops.try_emplace(api, static_cast<Row>(op));
    }
  }
  return ops;
}

}  // namespace

bool wait_lists_want_args(std::string_view name) {
  return starts_with_any(name, {"clEnqueue", "clWaitForEvents"});
}

// Handles are used again: an event is of the last call before that gave it.
WaitLists read_wait_lists(const trace::Trace& trace) {
  WaitLists lists;
  std::vector<bool> wanted;
  for (const std::string& name : trace.names) wanted.push_back(wait_lists_want_args(name));
  const std::unordered_map<Row, Row> ops = ops_of_calls(trace);
  std::map<std::pair<int32_t, int64_t>, Row> given;  // operations by process and event
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.apis.kind[i] != ApiKind::kRuntime || trace.apis.args[i] == 0) continue;
    if (!wanted[trace.apis.name[i]]) continue;
    const std::string_view args = trace.texts[trace.apis.args[i]];
    const int32_t process = trace.threads[trace.apis.thread[i]].process;
    const auto launched = ops.find(static_cast<Row>(i));
    const Row op = launched == ops.end() ? kNone : launched->second;
    const bool is_op = op != kNone;
    for (const int64_t event : handles_of(argument(args, "wait_list").value_or(""))) {
      const auto found = given.find({process, event});
      if (found == given.end() || found->second == op) continue;
      auto& list = is_op ? lists.operations : lists.calls;
      list.push_back({is_op ? op : static_cast<Row>(i), found->second});
    }
    const auto event = handle_argument(args, "event");
    if (is_op && event && *event != 0) given[{process, *event}] = op;
  }
  return lists;
}

}  // namespace sonde::analysis
