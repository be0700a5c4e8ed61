#include "fault/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/demangle.h"
#include "base/strings.h"
#include "fault/collectives.h"
#include "fault/findings.h"
#include "fault/waits.h"
#include "fault/waves.h"
#include "wire/board.h"

namespace sonde::fault {

namespace {

constexpr size_t kMostFrames = 16;
constexpr size_t kMostInFlight = 20;

class Text {
 public:
  Text(const FaultReport& report, const TextOptions& options)
      : report_(report), options_(options) {}

  std::string run() {
    head();
    address();
    queues();
    collectives();
    kernel();
    code();
    waves();
    others();
    call_error();
    threads();
    return std::move(out_);
  }

 private:
  template <typename... A>
  void line(fmt::format_string<A...> format, A&&... values) {
    out_ += fmt::format(format, std::forward<A>(values)...) + "\n";
  }
  std::string before(int64_t time_ns) const {
    if (time_ns == 0 || report_.time_ns == 0) return "at an unknown time";
    const int64_t distance = report_.time_ns - time_ns;
    return distance >= 0 ? format_duration(distance) + " before"
                         : format_duration(-distance) + " after";
  }
  void head();
  void address();
  void queues();
  void collectives();
  void threads();
  void kernel();
  void arguments(const Dispatch& dispatch, const char* indent);
  void argument(size_t index, const Argument& argument, const char* indent);
  void code();
  void waves();
  void wave(const Wave& wave);
  void others();
  void call_error();
  void stack(const std::vector<StackFrame>& frames);
  std::string place_text(const Place& place) const;

  const FaultReport& report_;
  TextOptions options_;
  std::string out_;
};

std::string sizes(const uint32_t* values) {
  return fmt::format("{} x {} x {}", values[0], values[1], values[2]);
}

std::string name_of(const Dispatch& dispatch) {
  return dispatch.name.empty() ? fmt::format("kernel object {:#x}", dispatch.object)
                               : dispatch.name;
}

void Text::head() {
  line("sonde: GPU report: {}", report_.title);
  line("  likely cause  {}", report_.cause);
  if (!report_.evidence.empty()) line("  because       {}", report_.evidence);
  if (!report_.advice.empty()) line("  advice        {}", report_.advice);
  std::string program = report_.program.empty() ? "" : report_.program + ", ";
  program += fmt::format("process {}", report_.pid);
  if (!report_.ended.empty()) program += ", ended by " + report_.ended;
  line("  program       {}", program);
  if (report_.queue) line("  queue         {} of GPU {}", *report_.queue, report_.gpu);
}

void Text::stack(const std::vector<StackFrame>& frames) {
  for (size_t i = 0; i < std::min(frames.size(), kMostFrames); ++i) {
    const StackFrame& frame = frames[i];
    const std::string where = frame.line != 0 ? fmt::format("  {}:{}", frame.file, frame.line)
                              : !frame.module.empty() ? "  " + frame.module
                                                      : "";
    line("      {}{}", frame.function, where);
  }
  if (frames.size() > kMostFrames) line("      ... and {} more", frames.size() - kMostFrames);
  if (frames.empty()) line("      its stack is unknown");
}

std::string Text::place_text(const Place& place) const {
  const Allocation& allocation = report_.allocations[place.allocation];
  const auto bytes = static_cast<int64_t>(allocation.bytes);
  const std::string freed = allocation.freed_ns != 0 ? " (freed)" : "";
  const std::string size = format_count(allocation.bytes) + " bytes" + freed;
  if (place.offset < 0) return fmt::format("{} before the start of {}", -place.offset, size);
  if (place.offset >= bytes)
    return fmt::format("{} past the end of {}", place.offset - bytes, size);
  return place.offset == 0 ? size : fmt::format("{} into {}", place.offset, size);
}

void Text::address() {
  if (!report_.has_address) return;
  line("\nAddress {:#x}{}", report_.address,
       report_.finding               ? ", to the byte"
       : report_.address_is_exact    ? ", from the registers of the wave"
       : report_.address % 4096 == 0 ? ", known by its page"
                                     : "");
  if (!report_.page.empty()) line("  page: {}", report_.page);
  if (!report_.nearest) {
    line("  No allocation is near.");
    return;
  }
  const Allocation& allocation = report_.allocations[report_.nearest->allocation];
  line("  {}", place_text(*report_.nearest));
  line("  {:#x} to {:#x}, {}", allocation.address, allocation.address + allocation.bytes,
       allocation.locked     ? std::string("memory of the program, registered")
       : allocation.gpu >= 0 ? fmt::format("memory of GPU {}", allocation.gpu)
                             : std::string("memory of the host"));
  line("  allocated {}, by {}", before(allocation.made_ns),
       allocation.call.empty() ? "an unknown call" : allocation.call);
  stack(allocation.made);
  if (allocation.freed_ns == 0) return;
  line("  freed {}", before(allocation.freed_ns));
  stack(allocation.freed);
}

void Text::argument(size_t index, const Argument& argument, const char* indent) {
  const std::string name = argument.name.empty() ? "?" : argument.name;
  std::string what = argument.type.empty() ? argument.kind : argument.type;
  const std::string value = argument.value.empty() ? "not known" : argument.value;
  std::string where;
  if (argument.is_pointer) {
    where = argument.place       ? ": " + place_text(*argument.place)
            : argument.word == 0 ? ": null"
                                 : ": no allocation is near";
  }
  line("{}  {}  {} {} = {}{}", indent, index, what, name, value, where);
}

void Text::arguments(const Dispatch& dispatch, const char* indent) {
  const std::string& trouble = dispatch.no_arguments;
  if (dispatch.arguments.empty()) {
    line("{}arguments: {}", indent, trouble.empty() ? "none" : trouble);
    return;
  }
  line("{}arguments{}", indent, trouble.empty() ? "" : ": " + trouble);
  for (size_t i = 0; i < dispatch.arguments.size(); ++i) {
    argument(i, dispatch.arguments[i], indent);
  }
}

void Text::queues() {
  if (!report_.no_waits.empty()) line("\nQueues: {}", report_.no_waits);
  if (report_.waits.empty()) return;
  line("\nQueues that wait");
  for (const QueueWait& wait : report_.waits) {
    const std::string ahead =
        wait.ahead == 0 ? "" : fmt::format(", behind {} in flight", wait.ahead);
    // The newest packet known of the queue: its signals may have come, and may be in use again.
    const char* doubt = wait.certain ? "" : ", unless it has finished, which no later packet shows";
    line("  queue {} of GPU {}, at packet {}{}, a barrier for {}{}", wait.queue, wait.gpu,
         wait.packet, ahead,
         wait.signals.size() == 1 ? "one signal"
         : wait.any               ? "one of these signals"
                                  : "all of these signals",
         doubt);
    for (const AwaitedSignal& signal : wait.signals) line("    {}", signal_text(signal));
  }
}

void Text::collectives() {
  if (report_.collectives.empty()) return;
  line("\nCollectives");
  for (const CollectiveWait& wait : report_.collectives) {
    line("  {}", collective_text(wait));
    for (const LateRank& rank : wait.late) {
      line("    {}, from", late_text(rank));
      stack(rank.stack);
    }
  }
}

void Text::threads() {
  if (!report_.no_threads.empty()) line("\nThreads: {}", report_.no_threads);
  if (report_.threads.empty()) return;
  line("\nThreads");
  for (const HostThread& thread : report_.threads) {
    const bool runs = thread.runs == wire::kThreadRuns;
    std::string what = runs                   ? ": runs, and could not be stopped to see where"
                       : !thread.call.empty() ? ", in " + thread.call
                       : thread.runs == wire::kThreadStopped ? ", runs"
                                                             : ", blocked";
    if (thread.runs == wire::kThreadMoves) what += ", which moves while it is inspected";
    line("  {} ({}){}", thread.tid, thread.name, what);
    if (!runs) stack(thread.stack);
  }
  if (report_.other_threads != 0) line("  ... and {} of the runtimes", report_.other_threads);
}

void Text::kernel() {
  if (!report_.culprit) {
    line("\nKernel: none was in flight");
    return;
  }
  const Dispatch& dispatch = report_.in_flight[*report_.culprit];
  line("\nKernel {}", name_of(dispatch));
  line("  {} ({})", dispatch.kernel, report_.how_sure);
  line("  grid {}, group {}, LDS {} bytes, scratch {} bytes a lane", sizes(dispatch.grid),
       sizes(dispatch.group), dispatch.group_bytes, dispatch.private_bytes);
  line("  packet {} of queue {}, GPU {}, launched {}", dispatch.packet, dispatch.queue,
       dispatch.gpu, before(dispatch.launched_ns));
  if (!dispatch.launch.empty()) {
    line("  launched by {} from", dispatch.call.empty() ? "an unknown call" : dispatch.call);
    stack(dispatch.launch);
  }
  arguments(dispatch, "  ");
}

void Text::code() {
  const Dispatch* dispatch = report_.culprit ? &report_.in_flight[*report_.culprit] : nullptr;
  if (dispatch != nullptr && dispatch->code_object) {
    const CodeObject& object = report_.code_objects[*dispatch->code_object];
    line("\nCode object {}", object.uri);
    line("  {:#x} to {:#x}, {} bytes in its file at offset {}", object.base,
         object.base + object.loaded_bytes, object.bytes, object.offset);
    if (!object.saved.empty()) line("  saved as {}", object.saved);
  }
  if (report_.disassembly.empty()) return;
  line("\nDisassembly{}", report_.function.empty() ? "" : " of " + demangle(report_.function));
  const DisassemblyLine* previous = nullptr;
  for (const DisassemblyLine& item : report_.disassembly) {
    const bool is_new =
        previous == nullptr || previous->line != item.line || previous->file != item.file;
    if (is_new && item.line != 0) {
      const size_t text = std::min(item.source.find_first_not_of(" \t"), item.source.size());
      line("  {}:{}:{}{}", item.file, item.line, text < item.source.size() ? " " : "",
           item.source.substr(text));
    }
    previous = &item;
    line("{} {:#x} <+{}>: {}", item.is_pc ? "  =>" : "    ", item.address, item.offset, item.text);
  }
}

void Text::wave(const Wave& wave) {
  line("    group {} ({}, {}, {}), wave {}: EXEC {:#x}", wave.group, wave.group_id[0],
       wave.group_id[1], wave.group_id[2], wave.number, wave.exec);
  if (wave.finding) line("      {}", access_text(*wave.finding));
  if (!wave.lanes.empty()) {
    const WaveLane& first = wave.lanes.front();
    const WaveLane& last = wave.lanes.back();
    line("      lane {} touches {:#x}, lane {} touches {:#x}", first.lane, first.address, last.lane,
         last.address);
  }
  if (options_.all) out_ += registers_text(wave);
}

void Text::waves() {
  if (report_.waves.empty()) {
    line("\nWaves: {}", report_.no_waves);
    return;
  }
  line("\nWaves");
  for (const WaveGroup& group : report_.waves) {
    line("  {} {} {:#x} <+{}> ({}): {}", group.waves.size(),
         group.waves.size() == 1 ? "wave at" : "waves at", group.pc, group.offset(), group.why,
         group.instruction);
    const size_t shown = options_.all ? group.waves.size() : 1;
    for (size_t i = 0; i < shown; ++i) wave(group.waves[i]);
    if (shown < group.waves.size()) line("    ... {} more: --all", group.waves.size() - shown);
  }
  if (!report_.no_waves.empty()) line("  {}", report_.no_waves);
}

void Text::others() {
  const size_t count = report_.in_flight.size();
  const bool is_live = report_.kind == "hang" || report_.kind == "state";
  if (count > 1) line("\nIn flight ({}, the oldest first)", count);
  for (size_t i = 0; count > 1 && i < std::min(count, kMostInFlight); ++i) {
    const Dispatch& dispatch = report_.in_flight[i];
    line("  {}, packet {} of queue {}, GPU {}, launched {}", name_of(dispatch), dispatch.packet,
         dispatch.queue, dispatch.gpu, before(dispatch.launched_ns));
    if (is_live && i != report_.culprit) arguments(dispatch, "    ");
  }
  if (count > kMostInFlight) line("  ... and {} more", count - kMostInFlight);
  if (report_.finished.empty()) return;
  line("\nFinished (the last {})", report_.finished.size());
  const auto same = [](const Dispatch& a, const Dispatch& b) {
    return a.object == b.object && a.queue == b.queue && a.gpu == b.gpu;
  };
  for (size_t i = 0, end = 0; i < report_.finished.size(); i = end) {
    const Dispatch& dispatch = report_.finished[i];
    while (end < report_.finished.size() && same(dispatch, report_.finished[end])) ++end;
    line("  {}{}, queue {}, GPU {}, found finished {}",
         end - i > 1 ? fmt::format("{} times ", end - i) : "", name_of(dispatch), dispatch.queue,
         dispatch.gpu, before(dispatch.ended_ns));
  }
}

void Text::call_error() {
  if (report_.call.empty()) return;
  line("\nThe last call that failed: {} returned {}", report_.call, report_.call_code);
  stack(report_.call_stack);
}

}  // namespace

std::string joined_text_of(const std::vector<KeptReport>& reports,
                           const std::vector<CollectiveWait>& waits) {
  std::string out;
  for (const CollectiveWait& wait : waits) {
    out += "  collective    " + collective_text(wait) + "\n";
    const std::string evidence = collective_evidence(wait);
    if (!evidence.empty()) out += "  because       " + evidence + "\n";
  }
  if (waits.empty()) out += "  In none of these reports a rank waits for another.\n";
  for (const KeptReport& report : reports) {
    out += fmt::format("\n{}, process {}: {}\n  likely cause  {}\n", report.file, report.pid,
                       report.title, report.cause);
  }
  return out;
}

std::string text_of(const FaultReport& report, const TextOptions& options) {
  return Text(report, options).run();
}

}  // namespace sonde::fault
