#include "importers/kineto/sonde.h"

#include <cstdlib>

#include "base/strings.h"
#include "importers/kineto/args.h"

namespace sonde::importers {

namespace {

bool is_sondes(std::string_view key) { return key.substr(0, 6) == "sonde "; }

// A JSON object without the members that Sonde added, which are its last ones. Inside of a text the
// quotes would have a backslash.
std::string_view without_sondes(std::string_view args, std::string& memory) {
  size_t begin = args.find(",\"sonde ");
  if (begin == args.npos) begin = args.find("{\"sonde ") == 0 ? 1 : args.npos;
  if (begin == args.npos) return args;
  memory = args.substr(0, begin);
  memory += '}';
  return memory == "{}" ? std::string_view() : std::string_view(memory);
}

}  // namespace

bool SondeTrace::take_metadata(const Event& event) {
  if (event.name == "sonde_trace") {
    ours_ = true;
    each_argument(event.args, [&](std::string_view key, std::string_view value) {
      if (key == "origin_ns") origin_ns_ = parse_int(value).value_or(0);
      if (key == "recorded") recorded_ = value == "1";
    });
    return true;
  }
  if (!ours_ || (event.name != "process_name" && event.name != "thread_name")) return ours_;
  int64_t pid = event.pid, tid = event.tid;
  each_argument(event.args, [&](std::string_view key, std::string_view value) {
    if (key == "sonde pid") pid = parse_int(value).value_or(pid);
    if (key == "sonde tid") tid = parse_int(value).value_or(tid);
    if (key == "sonde monitors") monitors_pid_ = pid;
  });
  if (pid != event.pid) real_pid_[event.pid] = pid;
  if (tid != event.tid) real_tid_[{event.pid, event.tid}] = tid;
  Process& process = processes_[pid];
  std::string name;
  each_argument(event.args, [&](std::string_view key, std::string_view value) {
    if (key == "sonde executable") process.executable = value;
    if (key == "sonde command") process.command = value;
    if (key == "sonde rank") process.rank = parse_int(value);
    if (key == "sonde name") name = value;
  });
  if (!name.empty()) process.threads[tid] = name;
  return true;
}

Event SondeTrace::in_place(const Event& event) const {
  if (event.phase == 'M') return event;  // what says where the others belong
  Event moved = event;
  if (event.has_ts && __builtin_add_overflow(event.ts, origin_ns_, &moved.ts)) moved.ts = event.ts;
  if (!real_tid_.empty()) {
    const auto real = real_tid_.find({event.pid, event.tid});
    if (real != real_tid_.end()) moved.tid = real->second;
  }
  if (!real_pid_.empty()) {
    const auto real = real_pid_.find(event.pid);
    if (real != real_pid_.end()) moved.pid = real->second;
  }
  return moved;
}

SondeTrace::CallFacts SondeTrace::restore(const Event& event, Sink& sink, Api& row) {
  CallFacts facts;
  bool own = recorded_;
  bool mark = false;
  std::string text;
  if (recorded_) row.category = 0;
  each_argument(event.args, [&](std::string_view key, std::string_view value) {
    if (key == "correlation") facts.correlation = parse_int(value);
    if (key == "args") text = value;
    if (!is_sondes(key)) return;
    if (key == "sonde mark") mark = true;
    if (key == "sonde row") own = true;
    if (key == "sonde unfinished") facts.unfinished = true;
    if (key == "sonde category") row.category = sink.name(value);
    if (key == "sonde domain") row.domain = sink.name(value);
  });
  if (mark) {
    row.name = sink.name("UserMarker");
    row.args = event.name == "UserMarker" ? std::string_view() : event.name;
  } else if (own) {
    args_ = std::move(text);
    row.args = args_;
  } else {
    row.args = without_sondes(event.args, args_);
  }
  return facts;
}

SondeTrace::OpFacts SondeTrace::restore(const Event& event, Sink& sink, Op& row,
                                        LaunchArgs& launch) {
  constexpr std::string_view kCounter = "sonde counter ";
  OpFacts facts;
  bool own = recorded_;
  std::string text, kind;
  each_argument(event.args, [&](std::string_view key, std::string_view value) {
    if (key == "args") text = value;
    if (key == "kind") kind = value;
    if (!is_sondes(key)) return;
    if (key == "sonde row") own = true;
    if (key == "sonde pid") facts.pid = parse_int(value);
    if (key == "sonde sequence") row.sequence = parse_int(value).value_or(0);
    if (key == "sonde queued") launch.queued_ns = parse_int(value).value_or(-1);
    if (key == "sonde submitted") launch.submitted_ns = parse_int(value).value_or(-1);
    if (key.substr(0, kCounter.size()) == kCounter) {
      facts.counters.emplace_back(sink.name(key.substr(kCounter.size())),
                                  std::strtod(std::string(value).c_str(), nullptr));
    }
  });
  if (!own) {
    row.args = without_sondes(event.args, args_);
    return facts;
  }
  launch.kind = {};  // it is the type, and none of Kineto's words
  row.type = sink.name(kind.empty() ? event.name : std::string_view(kind));
  if (kind.empty()) row.name = 0;
  args_ = std::move(text);
  row.args = args_;
  return facts;
}

bool SondeTrace::sample(const Event& event, Sink& sink) const {
  bool monitor = event.pid == monitors_pid_;
  std::string value;
  each_argument(event.args, [&](std::string_view key, std::string_view said) {
    if (key == "value") value = said;
    if (key == "sonde monitor") monitor = true;  // of older exports
  });
  // "gpu 0 sclk"
  const size_t first = event.name.find(' ');
  const size_t second = event.name.find(' ', first + 1);
  if (!monitor || first == event.name.npos || second == event.name.npos) return false;
  const auto device = parse_int(event.name.substr(first + 1, second - first - 1));
  sink.sample({event.name.substr(0, first), event.name.substr(second + 1), value,
               device.value_or(0), event.ts, event.ts});
  return true;
}

std::string_view SondeTrace::flow_id(const Event& event) {
  std::string_view id = event.id;
  each_argument(event.args, [&](std::string_view key, std::string_view value) {
    if (key != "sonde id") return;
    args_ = value;
    id = args_;
  });
  return id;
}

void SondeTrace::describe(int64_t pid, int64_t process, Sink& sink) const {
  const auto known = processes_.find(pid);
  if (known == processes_.end()) return sink.describe(process, {});
  const Process& said = known->second;
  sink.describe(process,
                {.rank = said.rank, .executable = said.executable, .command = said.command});
  for (const auto& [tid, name] : said.threads) sink.thread(process, tid, name);
}

}  // namespace sonde::importers
