// The log that HIP writes with AMD_LOG_LEVEL set (docs/formats.md): calls with arguments and
// results, dispatches with their kernels, copies, and free device memory. The log has no times of
// the device: a dispatch or copy is the moment in which its packet was written.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/strings.h"
#include "importers/importer.h"
#include "importers/input/copy_type.h"
#include "importers/input/decimal.h"
#include "importers/logs/log_line.h"

namespace sonde::importers {

namespace {

Sure sniff(const Head& head) {
  int lines = 0;
  for (const std::string_view line : split(head.bytes, '\n')) {
    if (lines < 3 && parse_log_line(line)) ++lines;
  }
  return lines >= 3 ? Sure::kCertain : lines > 0 ? Sure::kLikely : Sure::kNo;
}

struct OpenCall {
  std::string name, arguments;
  int64_t start_ns = 0;
  std::vector<Launch> launches;  // operations that wait for the id of this call
};

// What a thread has logged about its next dispatch, and the calls it is in.
struct Thread {
  std::vector<OpenCall> calls;
  std::string shader, shader_arguments;
};

using ThreadKey = std::pair<int64_t, int64_t>;  // pid and tid

class Reader {
 public:
  Reader(Source& source, Sink& sink, Tally& tally)
      : source_(source), sink_(sink), tally_(tally), domain_(sink.name("hip")) {}

  Status read() {
    Lines lines(source_);
    std::string_view text;
    while (true) {
      SONDE_ASSIGN(const bool more, lines.next(text));
      if (!more) break;
      const auto line = parse_log_line(text);
      if (!line) {
        other_lines_ += !text.empty();
        continue;
      }
      tally_.count(fmt::format("level {}", line->level));
      last_ns_ = std::max(last_ns_, line->time_us * 1000);
      message(*line);
      if (lines.row() % 4096 == 0) SONDE_TRY(sink_.status());
    }
    end();
    return sink_.status();
  }

 private:
  void message(const LogLine& line);
  void call_ends(const LogLine& line, const LoggedReturn& returned);
  void close(const LogLine& line, OpenCall& call, const LoggedReturn* returned, int64_t end_ns);
  void dispatch(const LogLine& line);
  void barrier(const LogLine& line);
  void copy(const LogLine& line);
  void add_op(const LogLine& line, Op op, Launch launch);
  void error(const LogLine& line);
  void end();
  int64_t queue_number(const LogLine& line);
  Thread& thread(const LogLine& line) { return threads_[{line.pid, line.tid}]; }
  int64_t time_of(const LogLine& line) const { return line.time_us * 1000; }

  Source& source_;
  Sink& sink_;
  Tally& tally_;
  const Name domain_;
  std::map<ThreadKey, Thread> threads_;
  std::map<std::pair<int64_t, int64_t>, int64_t> queues_;  // by pid and handle
  int64_t last_ns_ = 0;
  uint64_t other_lines_ = 0, ops_ = 0;
};

// These print only that they were entered. They return at once.
bool logs_no_return(std::string_view name) {
  return name == "hipGetLastError" || name == "hipPeekAtLastError";
}

void Reader::message(const LogLine& line) {
  const std::string_view text = line.message;
  Thread& on = thread(line);
  if (const auto call = parse_call(text)) {
    OpenCall begun{std::string(call->name), std::string(call->arguments), time_of(line), {}};
    if (logs_no_return(call->name)) {
      close(line, begun, nullptr, time_of(line));
    } else {
      on.calls.push_back(std::move(begun));
    }
  } else if (const auto returned = parse_return(text)) {
    call_ends(line, *returned);
  } else if (text.substr(0, 3) == "Arg" && text.find(" = ") != std::string_view::npos) {
    if (!on.shader_arguments.empty()) on.shader_arguments += " | ";
    on.shader_arguments += text;
  } else if (text.substr(0, 13) == "ShaderName : ") {
    on.shader = text.substr(13);
  } else if (text.find("Dispatch Header = ") != std::string_view::npos) {
    dispatch(line);
  } else if (text.find(" Header = ") != std::string_view::npos &&
             text.find("Barrier") != std::string_view::npos) {
    barrier(line);
  } else if (text.substr(0, 14) == "HSA Asycn Copy" || text.substr(0, 14) == "HSA Async Copy") {
    copy(line);
  } else if (const auto free_bytes = parse_number(value_after(text, "freeMem_ = "))) {
    sink_.counter({sink_.process(line.pid), line.tid, time_of(line),
                   sink_.name("free device memory (bytes)"), static_cast<double>(*free_bytes)});
  } else if (line.level <= 1) {
    error(line);
  }
}

// Some internal functions return under another name than they were entered with.
bool same_call(std::string_view entered, std::string_view returned) {
  return entered == returned || (entered.substr(0, 4) == "ihip" && returned.substr(0, 4) == "ihip");
}

void Reader::call_ends(const LogLine& line, const LoggedReturn& returned) {
  std::vector<OpenCall>& calls = thread(line).calls;
  size_t at = calls.size();
  while (at > 0 && !same_call(calls[at - 1].name, returned.name)) --at;
  if (at == 0) {  // only its return is logged
    OpenCall call{std::string(returned.name), {}, time_of(line), {}};
    if (returned.duration_us.value_or(-1) >= 0 && *returned.duration_us <= call.start_ns / 1000) {
      call.start_ns -= *returned.duration_us * 1000;
    }
    close(line, call, &returned, time_of(line));
    return;
  }
  while (calls.size() > at) {  // an inner call whose return is not logged
    close(line, calls.back(), nullptr, time_of(line));
    calls.pop_back();
  }
  close(line, calls.back(), &returned, time_of(line));
  calls.pop_back();
}

void append_fact(std::string& args, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (!args.empty()) args += " | ";
  args += fmt::format("{} = {}", name, value);
}

void Reader::close(const LogLine& line, OpenCall& call, const LoggedReturn* returned,
                   int64_t end_ns) {
  std::string args;
  append_fact(args, "args", call.arguments);
  if (returned != nullptr) {
    append_fact(args, "result", returned->code);
    append_fact(args, "value", returned->value);
  }
  args = valid_utf8(args);
  if (end_ns < call.start_ns) {
    tally_.repair("calls that end before they start: they are moments now", source_.path());
    end_ns = call.start_ns;
  }
  const int64_t id = sink_.api({sink_.process(line.pid), line.tid, call.start_ns, end_ns,
                                sink_.name(call.name), 0, domain_, args});
  // A call that made one copy moved its bytes with it; of several, none is known.
  const std::vector<std::string_view> fields = split(call.arguments, ',');
  const auto is_copy = [](const Launch& each) { return each.op_class == store::OpClass::kCopy; };
  const bool one_copy = std::count_if(call.launches.begin(), call.launches.end(), is_copy) == 1 &&
                        call.name.find("Memcpy") != std::string::npos && fields.size() >= 3;
  for (Launch& launch : call.launches) {
    launch.api = id;
    if (one_copy && is_copy(launch)) launch.bytes = parse_number(trim(fields[2])).value_or(-1);
    sink_.launch(launch);
  }
}

int64_t Reader::queue_number(const LogLine& line) {
  const int64_t handle = parse_number(value_after(line.message, "HWq=")).value_or(0);
  const auto number = static_cast<int64_t>(queues_.size());
  const auto [at, added] = queues_.try_emplace({line.pid, handle}, number);
  if (added) sink_.queue({sink_.process(line.pid), 0, number, handle, std::nullopt});
  return at->second;
}

void Reader::add_op(const LogLine& line, Op op, Launch launch) {
  op.start_ns = op.end_ns = time_of(line);
  launch.process = sink_.process(line.pid);
  launch.name = op.name;
  launch.submitted_ns = op.start_ns;
  launch.op = sink_.op(op);
  ++ops_;
  std::vector<OpenCall>& calls = thread(line).calls;
  if (calls.empty()) {
    sink_.launch(launch);
  } else {
    calls.front().launches.push_back(launch);
  }
}

void Reader::dispatch(const LogLine& line) {
  Thread& on = thread(line);
  Op op;
  op.queue = queue_number(line);
  op.name = sink_.name(valid_utf8(on.shader));
  op.type = sink_.name("KernelExecution");
  const std::string args = valid_utf8(on.shader_arguments);
  op.args = args;
  Launch launch;
  launch.op_class = store::OpClass::kKernel;
  const std::string_view text = line.message;
  if (!parse_axes(text, "grid=", launch.grid) || !parse_axes(text, "workgroup=", launch.group)) {
    tally_.repair("dispatches without a grid", source_.path());
  }
  launch.private_segment_bytes = parse_number(value_after(text, "private_seg_size=")).value_or(-1);
  launch.group_segment_bytes = parse_number(value_after(text, "group_seg_size=")).value_or(-1);
  add_op(line, op, launch);
  on.shader.clear();
  on.shader_arguments.clear();
}

void Reader::barrier(const LogLine& line) {
  add_op(line, {.queue = queue_number(line), .type = sink_.name("Barrier")},
         {.op_class = store::OpClass::kOther});
}

// The direction stands in the arguments of the call that the copy is made for.
void Reader::copy(const LogLine& line) {
  std::string_view type = "Copy";
  for (const OpenCall& call : thread(line).calls) {
    const size_t kind = call.arguments.find("hipMemcpy");
    if (kind == std::string::npos) continue;
    const std::string_view said = copy_type(std::string_view(call.arguments).substr(kind));
    if (said != "Copy") type = said;
  }
  // The queue is an engine of its own, which the log does not name.
  add_op(line, {.queue = -1, .type = sink_.name(type)}, {.op_class = store::OpClass::kCopy});
}

// Errors become marks, so that they stand on the time line.
void Reader::error(const LogLine& line) {
  const std::string text = valid_utf8(line.message);
  sink_.api({sink_.process(line.pid), line.tid, time_of(line), time_of(line),
             sink_.name("UserMarker"), sink_.name("error"), domain_, text});
  tally_.count("errors");
}

void Reader::end() {
  for (auto& [key, thread] : threads_) {
    const auto& [pid, tid] = key;
    while (!thread.calls.empty()) {
      OpenCall& call = thread.calls.back();
      const int64_t id = sink_.api({sink_.process(pid), tid, call.start_ns, last_ns_,
                                    sink_.name(call.name), 0, domain_, valid_utf8(call.arguments)});
      sink_.unfinished(id);
      for (Launch& launch : call.launches) {
        launch.api = id;
        sink_.launch(launch);
      }
      thread.calls.pop_back();
    }
  }
  if (other_lines_ > 0) {
    tally_.remark(
        fmt::format("{} lines are not log lines: output of the program, or a message's "
                    "further lines",
                    other_lines_));
  }
  if (ops_ > 0) {
    tally_.remark(
        fmt::format("{} operations have no duration: this log has no times of the device", ops_));
  }
}

Status read(Source& source, Sink& sink, Tally& tally) { return Reader(source, sink, tally).read(); }

Result<Clock> clock(Source&) { return Clock{"monotonic"}; }

}  // namespace

Importer amd_log_importer() {
  return {"amd-log", "the log of HIP, as AMD_LOG_LEVEL=3 or 4 prints it", sniff, read, clock};
}

}  // namespace sonde::importers
