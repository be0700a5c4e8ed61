#include "importers/kineto/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/possible_span.h"
#include "importers/input/copy_type.h"
#include "importers/input/decimal.h"
#include "importers/kineto/args.h"

namespace sonde::importers {

namespace {

// Numbers for pids and tids that are texts ("Spans", ""): no operating system gives such ones.
constexpr int64_t kFirstTextNumber = -1000;

std::string_view domain_of(Category category) {
  switch (category) {
    case Category::kCpuOp:
    case Category::kAnnotation:
    case Category::kGpuAnnotation:
      return "torch";
    case Category::kPython:
      return "python";
    default:
      return "";  // follows from the function's name
  }
}

std::string_view op_type(Category category, const LaunchArgs* args, std::string_view name) {
  const std::string_view kind = args == nullptr ? std::string_view() : args->kind;
  if (category == Category::kMemcpy) return copy_type(kind.empty() ? name : kind);
  if (category == Category::kMemset) return "FillBuffer";
  return kind == "Dispatch Task" ? "Task" : "KernelExecution";
}

// {"a":1} and {"b":2} as one object.
std::string joined(const std::string& first, std::string_view second) {
  const size_t end = first.rfind('}');
  const size_t begin = second.find('{');
  if (end == first.npos || begin == second.npos) return first.empty() ? std::string(second) : first;
  const auto is_empty = [](std::string_view inside) {
    return inside.find_first_not_of(" \t\r\n") == inside.npos;
  };
  if (is_empty(second.substr(begin + 1, second.size() - begin - 2))) return first;
  if (is_empty(std::string_view(first).substr(1, end - 1))) return std::string(second);
  return first.substr(0, end) + "," + std::string(second.substr(begin + 1));
}

}  // namespace

KinetoReader::KinetoReader(Sink& sink, Tally& tally, std::string path)
    : sink_(sink),
      tally_(tally),
      wants_(sink.wants()),
      path_(std::move(path)),
      links_(sink, wants_),
      torch_(sink.name("torch")),
      python_name_(sink.name("python")) {}

std::string KinetoReader::place_of(uint64_t offset) const {
  return path_ + ", byte " + std::to_string(window_offset_ + offset);
}

void KinetoReader::skip(const Event& event, const char* what) {
  tally_.skip(what, place_of(event.offset));
}

void KinetoReader::take_problems(const EventBatch& batch) {
  const EventProblems& problems = batch.problems;
  const auto tell = [&](auto how, const char* what, const EventProblems::Problem& problem) {
    if (problem.count > 0) (tally_.*how)(what, place_of(problem.first), problem.count);
  };
  tell(&Tally::skip, "events that are not valid JSON", problems.broken);
  tell(&Tally::skip, "array elements that are not events", problems.not_objects);
  tell(&Tally::repair, "events with invalid UTF-8 or control characters in texts, repaired",
       problems.bad_text);
  tell(&Tally::repair, "keys twice in one event, the last one taken", problems.twice);
  tell(&Tally::repair, "times that are not numbers, or out of range", problems.bad_time);
  tell(&Tally::repair, "events with NaN or Infinity in the arguments, taken as null",
       problems.not_json);
}

void KinetoReader::take(const EventBatch& batch) {
  window_offset_ = batch.window.file_offset;
  take_problems(batch);
  for (const Event& event : batch.events) {
    if (wants_.others) count(event);
    sonde_.is_ours() ? take_event(sonde_.in_place(event), batch) : take_event(event, batch);
  }
}

void KinetoReader::count(const Event& event) {
  const auto phase = static_cast<unsigned char>(event.phase);
  if (phase > 0 && phase < kPhases && event.spelling != kNoName) {
    ++counts_[phase][event.spelling];
    return;
  }
  std::string kind(1, phase == 0 ? '-' : event.phase);
  kind += '/';
  kind += event.category_text;
  tally_.count(kind);
}

int64_t KinetoReader::pid_of(const Event& event) {
  if (event.pid_text.empty()) return event.pid;
  const auto next = kFirstTextNumber - static_cast<int64_t>(number_of_text_.size());
  const auto [entry, is_new] = number_of_text_.try_emplace(std::string(event.pid_text), next);
  if (is_new && event.pid_text != "\"\"") facts_[next].name = event.pid_text;
  return entry->second;
}

int64_t KinetoReader::tid_of(const Event& event) {
  if (event.tid_text.empty()) return event.tid;
  const auto next = kFirstTextNumber - static_cast<int64_t>(number_of_text_.size());
  const auto [entry, is_new] = number_of_text_.try_emplace(std::string(event.tid_text), next);
  if (event.tid_text != "\"\"") {
    facts_[pid_of(event)].threads.try_emplace(entry->second, event.tid_text);
  }
  return entry->second;
}

int64_t KinetoReader::process_of(int64_t pid) {
  if (pid == last_pid_) return last_process_;
  const auto [entry, is_new] = process_of_pid_.try_emplace(pid, 0);
  if (is_new) entry->second = sink_.process(pid);
  last_pid_ = pid;
  last_process_ = entry->second;
  return last_process_;
}

Name KinetoReader::category_name(const Event& event) {
  if (event.spelling == kNoName) return sink_.name(event.category_text);
  Name& name = category_names_[event.spelling];
  if (name == 0) name = sink_.name(event.category_text);
  return name;
}

Api KinetoReader::row_of(const Event& event) {
  Api row;
  row.process = process_of(pid_of(event));
  row.tid = tid_of(event);
  row.start_ns = event.ts;
  if (__builtin_add_overflow(event.ts, event.dur, &row.end_ns)) row.end_ns = event.ts;
  row.name = sink_.name(event.name);
  row.category = category_name(event);
  const std::string_view domain = domain_of(event.category);
  row.domain = domain.empty() ? 0 : domain == "torch" ? torch_ : python_name_;
  row.args = event.args == "{}" ? std::string_view() : event.args;
  seen_until(row.end_ns);
  return row;
}

void KinetoReader::take_event(const Event& event, const EventBatch& batch) {
  if (event.phase == 'M') return take_metadata(event);
  if (event.phase == 0) return skip(event, "events without a phase (ph)");
  if (!event.has_ts) return skip(event, "events without a time (ts)");
  if (is_possible_span(event.ts, event.ts)) first_ns_ = std::min(first_ns_, event.ts);
  switch (event.phase) {
    case 'X':
      return take_complete(event, batch);
    case 'i':
    case 'I':
    case 'R':
    case 'n':
    case 'T':
    case 'p':
      return take_instant(event);
    case 'B':
    case 'E': {
      auto& stack = open_[{process_of(pid_of(event)), tid_of(event)}];
      return event.phase == 'B' ? take_begin(event, stack) : take_end(event, stack);
    }
    case 'b':
    case 'e':
    case 'S':
    case 'F':
      return take_async(event);
    case 'C':
      return take_counter(event);
    case 's':
    case 't':
    case 'f':
      return take_flow(event);
    case 'P':
      if (sonde_.is_ours()) return;  // the samples of a recording, which are not read back
      [[fallthrough]];
    default:
      skip(event, "events of a phase that an .rpd has no place for");
  }
}

void KinetoReader::take_complete(const Event& event, const EventBatch& batch) {
  if (!event.has_dur && event.dur == 0 && is_gpu_op(event.category)) {
    return skip(event, "GPU operations without a duration (dur)");
  }
  if (event.dur < 0) {
    tally_.repair("events that end before they start: kept, and zero long in all figures",
                  place_of(event.offset));
  }
  if (is_gpu_op(event.category)) return take_op(event, batch);
  if (!wants_.apis) {
    if (event.launch >= 0) {
      Api row;
      row.start_ns = event.ts;
      if (__builtin_add_overflow(event.ts, event.dur, &row.end_ns)) row.end_ns = event.ts;
      links_.call(event.name, batch.launches[static_cast<size_t>(event.launch)], numbering(event),
                  row, 1);
    }
    return;
  }
  Api row = row_of(event);
  if (event.category == Category::kPython && row.tid == 0 && wants_.facts) {
    int64_t id = INT64_MIN;
    int64_t parent = INT64_MIN;
    each_argument(event.args, [&](std::string_view key, std::string_view value) {
      if (key == "Python id") id = decimal_to_int(value, 0).value_or(INT64_MIN);
      if (key == "Python parent id") parent = decimal_to_int(value, 0).value_or(INT64_MIN);
    });
    return python_.add(row, id, parent);
  }
  const bool launches = event.category == Category::kRuntime && event.launch >= 0;
  take_api(event, row, launches ? &batch.launches[static_cast<size_t>(event.launch)] : nullptr);
}

void KinetoReader::take_api(const Event& event, Api& row, const LaunchArgs* launch) {
  LaunchArgs own;
  SondeTrace::CallFacts facts;
  if (sonde_.is_ours()) {
    facts = sonde_.restore(event, sink_, row);
    if (launch == nullptr && facts.correlation && sonde_.is_recorded()) {
      own.correlation = *facts.correlation;  // calls of any kind launch in Sonde's recordings
      launch = &own;
    }
  }
  const int64_t api = sink_.api(row);
  if (facts.unfinished) sink_.unfinished(api);
  if (launch != nullptr) links_.call(event.name, *launch, numbering(event), row, api);
}

void KinetoReader::take_op(const Event& event, const EventBatch& batch) {
  if (!wants_.ops) return;
  const LaunchArgs* args =
      event.launch < 0 ? nullptr : &batch.launches[static_cast<size_t>(event.launch)];
  LaunchArgs own;
  if (args == nullptr || sonde_.is_ours()) {
    if (args != nullptr) own = *args;
    args = &own;
  }
  Op row;
  row.gpu = args->device != LaunchArgs::kNone ? args->device : event.pid;
  row.queue = args->stream != LaunchArgs::kNone ? args->stream : event.tid;
  row.start_ns = event.ts;
  if (__builtin_add_overflow(event.ts, event.dur, &row.end_ns)) row.end_ns = event.ts;
  row.name = sink_.name(event.name);
  row.type = sink_.name(op_type(event.category, args, event.name));
  row.args = event.args;
  seen_until(row.end_ns);
  SondeTrace::OpFacts facts;
  if (sonde_.is_ours()) {
    facts = sonde_.restore(event, sink_, row, own);
    if (facts.pid) own.process = process_of(*facts.pid);
  }
  const int64_t op = sink_.op(row);
  for (const auto& [name, value] : facts.counters) sink_.op_counter(op, name, value);
  links_.op(*args, event.category, pid_of(event), row, op);
}

void KinetoReader::take_instant(const Event& event) {
  if (!wants_.apis) return;
  Api row = row_of(event);
  row.end_ns = row.start_ns;
  take_api(event, row, nullptr);
}

void KinetoReader::take_begin(const Event& event, std::vector<Open>& stack) {
  stack.push_back({row_of(event), std::string(event.args)});
}

void KinetoReader::take_end(const Event& event, std::vector<Open>& stack) {
  seen_until(event.ts);
  if (stack.empty()) return skip(event, "ends of ranges that never began");
  Open open = std::move(stack.back());
  stack.pop_back();
  open.row.end_ns = event.ts;
  open.args = joined(open.args, event.args);
  if (open.row.name == 0) open.row.name = sink_.name(event.name);
  open.row.args = open.args;
  if (wants_.apis) sink_.api(open.row);
}

void KinetoReader::take_async(const Event& event) {
  std::string key(event.category_text);
  key += '\0';
  key += event.scope;
  key += '\0';
  if (event.local_id) key += std::to_string(pid_of(event)) + '\0';
  key += event.id;
  auto& stack = open_async_[key];
  const bool begins = event.phase == 'b' || event.phase == 'S';
  begins ? take_begin(event, stack) : take_end(event, stack);
}

void KinetoReader::take_counter(const Event& event) {
  seen_until(event.ts);
  if (sonde_.is_ours() && sonde_.sample(event, sink_)) return;
  if (!wants_.others) return;
  Counter row;
  row.process = process_of(pid_of(event));
  row.tid = event.has_tid ? tid_of(event) : 0;
  row.time_ns = event.ts;
  bool any = false;
  each_argument(event.args, [&](std::string_view key, std::string_view value) {
    char* end = nullptr;
    const std::string number(value);
    row.value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0') return;
    any = true;
    const bool alone = key == event.name || key == "value" || key.empty();
    row.name = sink_.name(alone ? std::string(event.name)
                                : std::string(event.name) + " " + std::string(key));
    sink_.counter(row);
  });
  if (!any) skip(event, "counter events without a number");
}

// Arrows from a call to its operation say the same as the correlation numbers, and are not kept.
void KinetoReader::take_flow(const Event& event) {
  if (!wants_.others) return;
  if (event.category_text == "ac2g" || event.category_text == "async_cpu_to_gpu") return;
  sink_.flow({sink_.name(event.category_text), sink_.name(event.name),
              sonde_.is_ours() ? sonde_.flow_id(event) : event.id, event.phase,
              process_of(pid_of(event)), tid_of(event), event.ts});
}

void KinetoReader::take_metadata(const Event& event) {
  if (sonde_.take_metadata(event)) return;
  const int64_t pid = pid_of(event);
  const int64_t tid = tid_of(event);
  Facts& facts = facts_[pid];
  each_argument(event.args, [&](std::string_view key, std::string_view value) {
    if (event.name == "process_name" && key == "name") facts.name = value;
    if (event.name == "process_labels" && key == "labels") facts.labels = value;
    if (event.name == "thread_name" && key == "name") facts.threads[tid] = value;
  });
}

void KinetoReader::close_open_ranges() {
  uint64_t count = 0;
  const auto close = [&](std::vector<Open>& stack) {
    for (Open& open : stack) {
      open.row.end_ns = std::max(open.row.start_ns, last_ns_);
      open.row.args = open.args;
      ++count;
      if (wants_.apis) sink_.unfinished(sink_.api(open.row));
    }
  };
  for (auto& [place, stack] : open_) close(stack);
  for (auto& [key, stack] : open_async_) close(stack);
  tally_.repair("ranges without an end, taken to last to the end of the trace", "", count);
}

void KinetoReader::describe_processes(const Frame& frame) {
  for (const auto& [pid, process] : process_of_pid_) {
    if (sonde_.is_ours()) {
      sonde_.describe(pid, process, sink_);
      continue;
    }
    const Facts& facts = facts_[pid];
    ProcessFacts said;
    said.executable = facts.name;
    if (pid > 0 && facts.labels.substr(0, 3) != "GPU") said.rank = frame.rank;
    if (frame.base_ns) said.clock = "realtime";
    sink_.describe(process, said);
    for (const auto& [tid, name] : facts.threads) sink_.thread(process, tid, name);
  }
}

void KinetoReader::finish(Frame frame) {
  frame.own_numbers = sonde_.is_recorded();
  close_open_ranges();
  python_.finish(sink_);
  links_.finish(
      [&](int64_t pid) {
        const auto known = facts_.find(pid);
        return known == facts_.end() ? std::string()
                                     : known->second.name + " " + known->second.labels;
      },
      tally_);
  for (size_t phase = 0; phase < kPhases; ++phase) {
    for (size_t i = 0; i < kNoName; ++i) {
      if (counts_[phase][i] == 0) continue;
      tally_.count(fmt::format("{}/{}", static_cast<char>(phase), kCategories[i].text),
                   counts_[phase][i]);
    }
  }
  if (frame.broken) {
    tally_.repair("head of the file that is not valid JSON: its facts are missing", path_);
  }
  if (wants_.facts) describe_processes(frame);
  if (!wants_.others) {
    if (wants_.devices) links_.describe_devices(frame);
    return;
  }
  for (const auto& [key, value] : frame.notes) sink_.note(0, key, value);
  if (frame.base_ns) {
    sink_.clock(0, "realtime", *frame.base_ns, sonde_.origin_ns());
  } else if (first_ns_ != INT64_MAX && first_ns_ > kSurelyRealtimeNs) {
    sink_.clock(0, "realtime", 0, 0);
  }
  links_.describe_devices(frame);
}

}  // namespace sonde::importers
