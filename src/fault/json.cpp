#include <fmt/format.h>

#include "base/strings.h"
#include "fault/text.h"
#include "fault/violation.h"
#include "wire/board.h"

namespace sonde::fault {

namespace {

// Builds a JSON object or list.
class Json {
 public:
  explicit Json(char begin) : end_(begin == '{' ? '}' : ']') { out_ += begin; }
  Json& text(const char* key, const std::string& value) { return raw(key, json_quote(value)); }
  Json& number(const char* key, int64_t value) { return raw(key, std::to_string(value)); }
  Json& truth(const char* key, bool value) { return raw(key, value ? "true" : "false"); }
  Json& hex(const char* key, uint64_t value) { return raw(key, fmt::format("\"{:#x}\"", value)); }
  // A missing value is null.
  Json& raw(const char* key, const std::string& value) {
    if (out_.size() > 1) out_ += ", ";
    if (*key != '\0') out_ += json_quote(key) + ": ";
    out_ += value.empty() ? "null" : value;
    return *this;
  }
  std::string done() { return out_ + end_; }

 private:
  std::string out_;
  char end_;
};

template <typename List, typename Form>
std::string list_of(const List& list, Form form) {
  Json json('[');
  for (const auto& item : list) json.raw("", form(item));
  return json.done();
}

std::string frame_json(const StackFrame& frame) {
  return Json('{')
      .text("function", frame.function)
      .text("file", frame.file)
      .number("line", frame.line)
      .text("module", frame.module)
      .text("language", frame.is_python ? "python" : "native")
      .done();
}

std::string allocation_json(const Allocation& allocation) {
  Json json('{');
  json.hex("address", allocation.address).number("bytes", static_cast<int64_t>(allocation.bytes));
  json.number("gpu", allocation.gpu).truth("registered", allocation.locked);
  json.number("made_ns", allocation.made_ns).number("freed_ns", allocation.freed_ns);
  json.text("call", allocation.call).raw("made", list_of(allocation.made, frame_json));
  return json.raw("freed", list_of(allocation.freed, frame_json)).done();
}

std::string place_json(const std::optional<Place>& place) {
  if (!place) return {};
  return Json('{')
      .number("allocation", static_cast<int64_t>(place->allocation))
      .number("offset", place->offset)
      .done();
}

std::string argument_json(const Argument& argument) {
  Json json('{');
  json.text("name", argument.name).text("type", argument.type).text("kind", argument.kind);
  json.number("offset", argument.offset).number("bytes", argument.bytes);
  return json.text("value", argument.value).raw("place", place_json(argument.place)).done();
}

std::string sizes_json(const uint32_t* sizes) {
  return fmt::format("[{}, {}, {}]", sizes[0], sizes[1], sizes[2]);
}

std::string dispatch_json(const Dispatch& dispatch) {
  Json json('{');
  json.number("number", static_cast<int64_t>(dispatch.number)).text("kernel", dispatch.kernel);
  json.text("name", dispatch.name).hex("kernel_object", dispatch.object);
  json.number("gpu", dispatch.gpu).number("queue", static_cast<int64_t>(dispatch.queue));
  json.number("packet", static_cast<int64_t>(dispatch.packet));
  json.raw("grid", sizes_json(dispatch.grid)).raw("group", sizes_json(dispatch.group));
  json.number("group_bytes", dispatch.group_bytes).number("private_bytes", dispatch.private_bytes);
  json.number("launched_ns", dispatch.launched_ns).number("ended_ns", dispatch.ended_ns);
  json.text("call", dispatch.call).raw("launch", list_of(dispatch.launch, frame_json));
  json.raw("arguments", list_of(dispatch.arguments, argument_json));
  json.text("no_arguments", dispatch.no_arguments);
  const auto object = dispatch.code_object;
  return json.raw("code_object", object ? std::to_string(*object) : "").done();
}

std::string object_json(const CodeObject& object) {
  Json json('{');
  json.text("uri", object.uri).number("offset", static_cast<int64_t>(object.offset));
  json.number("bytes", static_cast<int64_t>(object.bytes)).hex("base", object.base);
  json.number("loaded_bytes", static_cast<int64_t>(object.loaded_bytes));
  return json.text("saved", object.saved).done();
}

std::string line_json(const DisassemblyLine& line) {
  return Json('{')
      .hex("address", line.address)
      .number("offset", static_cast<int64_t>(line.offset))
      .text("text", line.text)
      .truth("is_pc", line.is_pc)
      .text("file", line.file)
      .number("line", line.line)
      .text("source", line.source)
      .done();
}

std::string lane_json(const WaveLane& lane) {
  return Json('{').number("lane", lane.lane).hex("address", lane.address).done();
}

std::string group_json(const WaveGroup& group) {
  Json json('{');
  json.hex("pc", group.pc).hex("offset", group.offset()).text("why", group.why);
  json.text("kernel", group.kernel).text("instruction", group.instruction);
  json.number("count", static_cast<int64_t>(group.waves.size()));
  const auto wave = [](const Wave& one) {
    // The state is already JSON.
    return Json('{').raw("lanes", list_of(one.lanes, lane_json)).raw("state", one.state).done();
  };
  return json.raw("waves", list_of(group.waves, wave)).done();
}

std::string finding_json(const CheckFinding& finding) {
  const auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
  Json json('{');
  json.text("kind", finding.kind).text("access", finding.access);
  json.truth("is_lds", finding.is_local)
      .hex("begin", finding.begin)
      .hex("address", finding.address);
  json.number("bytes", number(finding.bytes)).number("lane", number(finding.lane));
  json.number("lanes", number(finding.lanes)).number("wave", number(finding.wave));
  json.truth("is_scalar", finding.is_scalar);
  if (finding.kind != "race") return json.done();
  json.hex("other_pc", finding.other_pc).number("other_wave", number(finding.other_wave));
  json.number("other_lane", number(finding.other_lane)).text("other_access", finding.other_access);
  json.truth("other_is_scalar", finding.other_is_scalar);
  return json.text("other_instruction", finding.other_instruction).done();
}

std::string completer_json(const Completer& by) {
  Json json('{');
  json.number("queue", static_cast<int64_t>(by.queue));
  json.number("packet", static_cast<int64_t>(by.packet));
  return json.text("kernel", by.kernel).done();
}

std::string signal_json(const AwaitedSignal& signal) {
  Json json('{');
  json.hex("signal", signal.handle);
  json.raw("value", signal.value ? std::to_string(*signal.value) : "");
  return json.raw("completed_by", list_of(signal.by, completer_json)).done();
}

std::string wait_json(const QueueWait& wait) {
  Json json('{');
  json.number("gpu", wait.gpu).number("queue", static_cast<int64_t>(wait.queue));
  json.number("packet", static_cast<int64_t>(wait.packet)).truth("any", wait.any);
  json.number("dispatches_ahead", wait.ahead);
  return json.raw("signals", list_of(wait.signals, signal_json)).done();
}

std::string late_json(const LateRank& rank) {
  Json json('{');
  json.number("rank", rank.rank).number("pid", rank.pid).truth("ended", rank.ended);
  json.number("calls", static_cast<int64_t>(rank.calls)).text("last_call", rank.call);
  return json.raw("stack", list_of(rank.stack, frame_json)).done();
}

std::string collective_json(const CollectiveWait& wait) {
  Json json('{');
  json.number("ranks", wait.ranks).number("sequence", static_cast<int64_t>(wait.sequence));
  json.text("call", wait.call).truth("differs", wait.differs);
  const auto number = [](int rank) { return std::to_string(rank); };
  json.raw("arrived", list_of(wait.arrived, number)).raw("unknown", list_of(wait.unknown, number));
  return json.raw("late", list_of(wait.late, late_json)).done();
}

std::string rank_call_json(const RankCall& call) {
  Json json('{');
  json.hex("communicator", call.communicator).number("ranks", call.ranks).number("rank", call.rank);
  json.text("host", call.host).number("pid", call.pid).truth("ended", call.process_ended);
  json.number("sequence", static_cast<int64_t>(call.sequence)).text("call", call.name);
  json.number("count", static_cast<int64_t>(call.count)).number("type", call.type);
  json.number("root", call.root).truth("open", call.is_open);
  return json.raw("stack", list_of(call.stack, frame_json)).done();
}

std::string thread_json(const HostThread& thread) {
  Json json('{');
  json.number("tid", thread.tid).text("name", thread.name).text("call", thread.call);
  return json.truth("runs", thread.runs == wire::kThreadRuns || thread.runs == wire::kThreadStopped)
      .raw("stack", list_of(thread.stack, frame_json))
      .done();
}

std::string kept_json(const KeptReport& report) {
  return Json('{')
      .text("file", report.file)
      .number("pid", report.pid)
      .text("title", report.title)
      .text("cause", report.cause)
      .done();
}

}  // namespace

std::string joined_json_of(const std::vector<KeptReport>& reports,
                           const std::vector<CollectiveWait>& waits) {
  return Json('{')
      .number("version", 1)
      .raw("collectives", list_of(waits, collective_json))
      .raw("reports", list_of(reports, kept_json))
      .done();
}

std::string json_of(const FaultReport& report) {
  Json json('{');
  json.number("version", 1).text("kind", report.kind).text("title", report.title);
  json.text("cause", report.cause).text("evidence", report.evidence).text("advice", report.advice);
  json.number("pid", report.pid).text("program", report.program).text("ended", report.ended);
  json.number("time_ns", report.time_ns).number("gpu", report.gpu);
  json.raw("queue", report.queue ? std::to_string(*report.queue) : "");
  json.raw("address", report.has_address ? fmt::format("\"{:#x}\"", report.address) : "");
  json.truth("address_is_exact", report.address_is_exact).text("reason", report.reason);
  json.number("status", report.status).number("reasons", report.reasons);
  json.raw("place", place_json(report.nearest)).text("page", report.page);
  json.text("assertion", report.assertion);
  json.text("violation", report.violation ? violation_text(*report.violation) : "");
  json.raw("kernel", report.culprit ? std::to_string(*report.culprit) : "");
  json.text("kernel_because", report.how_sure);
  json.raw("allocations", list_of(report.allocations, allocation_json));
  json.raw("in_flight", list_of(report.in_flight, dispatch_json));
  json.raw("finished", list_of(report.finished, dispatch_json));
  json.raw("code_objects", list_of(report.code_objects, object_json));
  json.text("disassembled", report.function);
  json.raw("disassembly", list_of(report.disassembly, line_json));
  json.raw("waves", list_of(report.waves, group_json)).text("no_waves", report.no_waves);
  json.raw("finding", report.finding ? finding_json(*report.finding) : "");
  json.raw("waits", list_of(report.waits, wait_json)).text("no_waits", report.no_waits);
  json.raw("cycle", list_of(report.cycle, [&report](size_t wait) {
             return std::to_string(report.waits[wait].queue);
           }));
  json.raw("collectives", list_of(report.collectives, collective_json));
  json.raw("rank_calls", list_of(report.rank_calls, rank_call_json));
  json.raw("threads", list_of(report.threads, thread_json)).text("no_threads", report.no_threads);
  json.text("failed_call", report.call).number("failed_call_code", report.call_code);
  return json.raw("failed_call_stack", list_of(report.call_stack, frame_json)).done();
}

}  // namespace sonde::fault
