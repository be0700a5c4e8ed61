#include "fault/compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/demangle.h"
#include "base/strings.h"
#include "fault/allocations.h"
#include "fault/assertion.h"
#include "fault/collectives.h"
#include "fault/findings.h"
#include "fault/values.h"
#include "fault/violation.h"
#include "fault/waits.h"
#include "fault/waves.h"

namespace sonde::fault {

namespace {

constexpr uint64_t kMostFinished = 50, kPage = 4096;
constexpr const char* kUntold = "; the runtime has not told the program, which keeps waiting";

// When it happened, where the program went on after it; 0: it is how things are now, or unknown.
int64_t event_ns(const wire::Board& state, const Occasion& occasion) {
  switch (occasion.kind) {
    case Occasion::Kind::kFault:
      return state.faults[occasion.fault % wire::kBoardFaults].time_ns;
    case Occasion::Kind::kCallError:
      return state.call_error.time_ns;
    case Occasion::Kind::kCheck:
      return occasion.found->time_ns;
    default:
      return 0;
  }
}

class Composer {
 public:
  Composer(const Board& board, CodeObjects& code, const Namer& namer)
      : board_(board), state_(*board.state), code_(code), namer_(namer) {}

  FaultReport run(const Occasion& occasion) {
    is_live_ = occasion.kind == Occasion::Kind::kHang || occasion.kind == Occasion::Kind::kAsked;
    process_ = is_live_ ? occasion.process : nullptr;
    held_ = occasion.kind == Occasion::Kind::kFault ? occasion.process : nullptr;
    report_.pid = state_.pid;
    event_ns_ = event_ns(state_, occasion);
    describe(occasion);
    list_dispatches();
    list_waves(occasion);
    list_waits();
    if (is_live_) {
      report_.rank_calls = list_rank_calls(state_, occasion.all, namer_);
      // A rank without work may be the one that others wait for.
      const int64_t of = report_.in_flight.empty() ? 0 : report_.pid;
      report_.collectives = find_collective_waits(report_.rank_calls, of);
      keep_newest(report_.rank_calls);
      report_.no_threads = occasion.no_threads;
      if (occasion.no_threads.empty()) list_threads(board_, namer_, report_);
    }
    find_culprit();
    const auto room = report_.culprit ? report_.in_flight[*report_.culprit].private_bytes : 0;
    report_.violation = first_violation(report_.waves, room, code_);
    look_at_page();
    report_.nearest = report_.has_address ? place(report_.address) : std::nullopt;
    show_code();
    find_cause(report_);
    if (occasion.untold) report_.evidence += kUntold;
    return std::move(report_);
  }

 private:
  void describe(const Occasion& occasion);
  void describe_fault(const wire::BoardFault& fault);
  void describe_call_error();
  void list_dispatches();
  void list_waves(const Occasion& occasion);
  void list_waits();
  void add_checked();
  void find_culprit();
  void use_wave_address();
  void look_at_page();
  void show_code();
  int64_t ended_ns_of(const wire::BoardDispatch& entry) const;
  Dispatch dispatch(const wire::BoardDispatch& entry, bool with_arguments);
  void add_launch(const wire::BoardDispatch& entry, Dispatch& dispatch);
  void add_arguments(const gpu::Kernel& kernel, const wire::BoardDispatch& entry,
                     Dispatch& dispatch);
  std::string kept_arguments(uint64_t number, wire::BoardArguments& values) const;
  std::string live_arguments(const gpu::Kernel& kernel, const wire::BoardDispatch& entry,
                             wire::BoardArguments& values) const;
  Argument argument(const gpu::KernelArgument& from, const wire::BoardArguments& values);
  std::optional<Place> place(uint64_t address);
  size_t listed(const wire::BoardAllocation& entry);
  bool counts(const WaveGroup& group) const;
  int rank_of(const Dispatch& dispatch) const;

  const Board& board_;
  const wire::Board& state_;
  CodeObjects& code_;
  const Namer& namer_;
  FaultReport report_;
  bool is_live_ = false;
  int64_t event_ns_ = 0;
  const LiveProcess* process_ = nullptr;  // still running
  const LiveProcess* held_ = nullptr;     // held after a fault, and possibly gone
  std::map<const wire::BoardAllocation*, size_t> listed_;
};

void Composer::describe_fault(const wire::BoardFault& fault) {
  report_.gpu = fault.gpu;
  report_.status = fault.status;
  report_.reasons = fault.reasons;
  report_.time_ns = fault.time_ns;
  report_.host_mapped = fault.host_mapped != 0;
  if (fault.queue < wire::kBoardQueues) report_.queue = state_.queues[fault.queue].id;
  if (fault.kind == wire::kBoardMemoryFault) {
    report_.kind = "memory fault";
    report_.address = fault.address;
    report_.has_address = true;
    report_.reason = reasons_text(fault.reasons);
    report_.title = fmt::format("memory access fault on GPU {} at {:#x}: {}", fault.gpu,
                                fault.address, report_.reason);
  } else {
    report_.kind = "queue error";
    report_.reason = fault.text;
    report_.title = fmt::format("a queue of GPU {} stopped with error {:#x}: {}", fault.gpu,
                                fault.status, fault.text);
  }
}

void Composer::describe_call_error() {
  const wire::BoardCallError& error = state_.call_error;
  if (error.time_ns == 0) return;
  report_.call = error.function;
  report_.call_code = error.code;
  report_.call_was_repeated = error.repeated_ns != 0;
  report_.call_stack = name_stack(error.stack, board_, namer_).frames;
  report_.call_bytes = error.bytes;
  const auto side = [&](const char* verb, uint64_t address) {
    CallSide known{verb, address, address != 0 ? place(address) : std::nullopt};
    // A host pointer is in no allocation.
    if (known.place &&
        (known.place->offset < 0 || static_cast<uint64_t>(known.place->offset) >=
                                        report_.allocations[known.place->allocation].bytes)) {
      known.place.reset();
    }
    if (known.place) report_.call_sides.push_back(std::move(known));
  };
  side(error.frees != 0 ? "frees" : "writes", error.to);
  side("reads", error.from);
}

void Composer::describe(const Occasion& occasion) {
  report_.program = occasion.program, report_.ended = occasion.ended;
  describe_call_error();
  if (occasion.kind == Occasion::Kind::kFault) {
    describe_fault(state_.faults[occasion.fault % wire::kBoardFaults]);
  } else if (occasion.kind == Occasion::Kind::kCrash) {
    report_.kind = "host crash";
    report_.wrong_architecture = occasion.wrong_architecture;
    report_.time_ns = occasion.time_ns;
    report_.title = fmt::format("the program ended by {} with work on its GPUs", occasion.ended);
  } else if (occasion.kind == Occasion::Kind::kCheck) {
    show_finding(*occasion.found, code_, report_);
    report_.waves = group_waves({*occasion.found}, code_);
  } else if (occasion.kind == Occasion::Kind::kHang) {
    report_.kind = "hang";
    report_.time_ns = occasion.time_ns;
    report_.title = fmt::format("no dispatch of the program has begun or ended for {}",
                                format_duration(occasion.time_ns - occasion.since_ns));
  } else if (occasion.kind == Occasion::Kind::kAsked) {
    report_.kind = "state";
    report_.time_ns = occasion.time_ns;
    report_.title = "what the program's GPUs are doing, as requested by SIGQUIT";
  } else {
    report_.kind = "HIP error";
    report_.wrong_architecture = wrong_architecture(state_);
    report_.time_ns = state_.call_error.time_ns;
    report_.title = fmt::format("{} failed with error {}, and the program ended with {}",
                                report_.call, report_.call_code, occasion.ended);
  }
}

size_t Composer::listed(const wire::BoardAllocation& entry) {
  const auto known = listed_.find(&entry);
  if (known != listed_.end()) return known->second;
  NamedStack made = name_stack(entry.made, board_, namer_);
  Allocation allocation;
  allocation.address = entry.address;
  allocation.bytes = entry.bytes;
  allocation.gpu = entry.gpu;
  allocation.locked = entry.kind == wire::kBoardLocked;
  allocation.made_ns = entry.made_ns;
  allocation.freed_ns = freed_ns_at(entry, event_ns_);
  allocation.call = std::move(made.call);
  allocation.made = std::move(made.frames);
  if (allocation.freed_ns != 0) allocation.freed = name_stack(entry.freed, board_, namer_).frames;
  report_.allocations.push_back(std::move(allocation));
  return listed_[&entry] = report_.allocations.size() - 1;
}

std::optional<Place> Composer::place(uint64_t address) {
  const wire::BoardAllocation* entry = nearest_allocation(state_, address, event_ns_);
  if (entry == nullptr) return std::nullopt;
  return Place{listed(*entry), static_cast<int64_t>(address - entry->address)};
}

Argument Composer::argument(const gpu::KernelArgument& from, const wire::BoardArguments& values) {
  Argument argument{from.name, from.type, from.kind, from.offset, from.bytes};
  if (uint64_t{from.offset} + from.bytes > values.bytes || from.bytes == 0) return argument;
  const char* const data = values.data + from.offset;
  argument.is_pointer = from.bytes == 8 && from.kind == "global_buffer";
  if (!argument.is_pointer) {
    argument.value = value_text(data, from.bytes, from.type);
    return argument;
  }
  std::memcpy(&argument.word, data, sizeof argument.word);
  argument.value = fmt::format("{:#x}", argument.word);
  if (argument.word != 0) argument.place = place(argument.word);
  return argument;
}

// Arguments that the process itself saved when the fault occurred. Returns why there are none.
std::string Composer::kept_arguments(uint64_t number, wire::BoardArguments& values) const {
  const auto kept =
      std::find_if(std::begin(state_.arguments), std::end(state_.arguments),
                   [&](const wire::BoardArguments& entry) { return entry.number == number + 1; });
  if (kept == std::end(state_.arguments)) return "they were not read before the program ended";
  values = *kept;
  if (kept->error == 0) return {};
  return fmt::format("they could not be read: {}", std::strerror(static_cast<int>(kept->error)));
}

// Reads the arguments from the memory of the running process.
std::string Composer::live_arguments(const gpu::Kernel& kernel, const wire::BoardDispatch& entry,
                                     wire::BoardArguments& values) const {
  uint32_t bytes = 0;
  for (const gpu::KernelArgument& from : kernel.arguments) {
    if (from.kind.rfind("hidden_", 0) == 0) continue;
    bytes = std::max(bytes, from.offset + from.bytes);
  }
  if (bytes == 0) return {};
  bytes = std::min(bytes, wire::kBoardArgumentBytes);
  const int64_t read = process_->read(entry.kernarg, values.data, bytes);
  if (read < 0) {
    return fmt::format("they could not be read from process {}: {}", report_.pid,
                       std::strerror(static_cast<int>(-read)));
  }
  // After a dispatch ends, the program reuses its kernarg memory.
  if (process_->has_ended(entry.number)) return "the dispatch ended while they were read";
  values.bytes = static_cast<uint32_t>(read);
  if (read == bytes) return {};
  return fmt::format("only {} of their {} bytes could be read", read, bytes);
}

void Composer::add_arguments(const gpu::Kernel& kernel, const wire::BoardDispatch& entry,
                             Dispatch& dispatch) {
  wire::BoardArguments values = {};
  dispatch.no_arguments = process_ != nullptr ? live_arguments(kernel, entry, values)
                                              : kept_arguments(dispatch.number, values);
  for (const gpu::KernelArgument& from : kernel.arguments) {
    if (from.kind.rfind("hidden_", 0) == 0) continue;
    dispatch.arguments.push_back(argument(from, values));
  }
}

void Composer::add_launch(const wire::BoardDispatch& entry, Dispatch& dispatch) {
  const wire::BoardLaunch& launch = state_.launches[dispatch.number % wire::kBoardDispatches];
  if (launch.number != entry.number) return;
  NamedStack named = name_stack(launch.stack, board_, namer_);
  dispatch.call = std::move(named.call);
  dispatch.launch = std::move(named.frames);
}

Dispatch Composer::dispatch(const wire::BoardDispatch& entry, bool with_arguments) {
  Dispatch dispatch;
  dispatch.number = entry.number - 1;
  dispatch.object = entry.kernel_object;
  dispatch.packet = entry.packet;
  dispatch.launched_ns = entry.launched_ns;
  dispatch.ended_ns = ended_ns_of(entry);
  dispatch.group_bytes = entry.group_bytes;
  dispatch.private_bytes = entry.private_bytes;
  for (int i = 0; i < 3; ++i) {
    dispatch.grid[i] = entry.grid[i];
    dispatch.group[i] = entry.group[i];
  }
  if (entry.queue < wire::kBoardQueues) {
    dispatch.queue = state_.queues[entry.queue].id;
    dispatch.gpu = state_.queues[entry.queue].gpu;
  }
  if (with_arguments) add_launch(entry, dispatch);
  const gpu::Kernel* kernel = code_.kernel_of(entry.kernel_object, &dispatch.code_object);
  if (kernel == nullptr) {
    dispatch.no_arguments = "its code object cannot be read";
    return dispatch;
  }
  dispatch.kernel = kernel->name;
  dispatch.name = demangle(kernel->name);
  if (with_arguments) add_arguments(*kernel, entry, dispatch);
  return dispatch;
}

int64_t Composer::ended_ns_of(const wire::BoardDispatch& entry) const {
  return wire::ended_ns(state_, static_cast<uint64_t>(&entry - state_.dispatches));
}

void Composer::list_dispatches() {
  std::vector<const wire::BoardDispatch*> entries;
  for (const wire::BoardDispatch& entry : state_.dispatches) {
    const uint64_t place = static_cast<uint64_t>(&entry - state_.dispatches);
    if (entry.number != 0 && (entry.number - 1) % wire::kBoardDispatches == place) {
      entries.push_back(&entry);
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return a->number < b->number; });
  for (const wire::BoardDispatch* entry : entries) {
    if (ended_ns_of(*entry) == 0) report_.in_flight.push_back(dispatch(*entry, true));
  }
  std::sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) {
    return std::pair(ended_ns_of(*a), a->number) > std::pair(ended_ns_of(*b), b->number);
  });
  for (const wire::BoardDispatch* entry : entries) {
    if (ended_ns_of(*entry) == 0 || report_.finished.size() == kMostFinished) break;
    report_.finished.push_back(dispatch(*entry, false));
  }
}

// Waves that stopped only to report their position are no evidence of a fault.
bool Composer::counts(const WaveGroup& group) const { return is_live_ || group.why != "demand"; }

void Composer::list_waves(const Occasion& occasion) {
  if (!report_.waves.empty()) return;  // only one wave is reported
  if (!occasion.waves_file.empty()) {
    auto waves = read_waves(occasion.waves_file, report_.pid, occasion.waves_from);
    std::erase_if(waves, [](const Wave& wave) { return wave.finding && goes_on(*wave.finding); });
    for (Wave& wave : waves) {
      if (wave.why == "memory_fault") wave.lanes = touched_by(wave, code_);
      if (wave.finding && !report_.finding) show_finding(wave, code_, report_);
    }
    report_.waves = group_waves(std::move(waves), code_);
  }
  report_.no_waves = occasion.no_waves;
  if (!report_.waves.empty() || !report_.no_waves.empty()) return;
  report_.no_waves =
      occasion.kind != Occasion::Kind::kFault && !is_live_ ? "none had stopped"
      : occasion.on_softgpu && occasion.waves_file.empty()
          ? "softgpu was not asked for them: sonde debug --softgpu does so"
      : is_live_ && occasion.on_softgpu ? "none runs machine code"
      : occasion.on_softgpu
          ? "none stopped in machine code: a fault of the script, or host code (softgpu --engine isa)"
          : "the process was gone before its GPUs could be asked";
}

void Composer::list_waits() {
  if (!is_live_) return;
  if (process_ == nullptr) {
    report_.no_waits = "the process was not inspected";
    return;
  }
  if (process_->trouble() != 0) {
    report_.no_waits = fmt::format("the signals of process {} cannot be read: {}", report_.pid,
                                   std::strerror(process_->trouble()));
    return;
  }
  const auto kernel_name = [this](const wire::BoardDispatch& entry) {
    const Dispatch known = dispatch(entry, false);
    return known.name.empty() ? fmt::format("object {:#x}", known.object) : known.name;
  };
  Waits waits = find_waits(
      state_, [this](uint64_t signal) { return process_->signal_value(signal); }, kernel_name);
  report_.waits = std::move(waits.queues);
  report_.cycle = std::move(waits.cycle);
}

// A dispatch's likelihood: the wave's kernel, the fault's queue, an argument at the address.
int Composer::rank_of(const Dispatch& dispatch) const {
  int rank = 0;
  for (const WaveGroup& group : report_.waves) {
    if (counts(group) && group.kernel == dispatch.kernel) rank = 8;
  }
  if (report_.queue && dispatch.queue == *report_.queue) rank += 4;
  if (is_live_ && !is_held(report_.waits, dispatch)) rank += 1;
  if (!report_.has_address) return rank;
  const wire::BoardAllocation* entry = nearest_allocation(state_, report_.address, event_ns_);
  for (const Argument& argument : dispatch.arguments) {
    const bool is_it = argument.place && entry != nullptr &&
                       report_.allocations[argument.place->allocation].address == entry->address;
    if (is_it || (argument.is_pointer && argument.word / kPage == report_.address / kPage)) {
      rank += 2;
      break;
    }
  }
  return rank;
}

// The checked dispatch may have ended: the finding has its arguments.
void Composer::add_checked() {
  const CheckFinding& finding = *report_.finding;
  const wire::BoardDispatch* newest = dispatch_of(state_, finding, report_.time_ns);
  if (newest == nullptr) return;
  Dispatch found = dispatch(*newest, false);
  add_launch(*newest, found);
  wire::BoardArguments values = {};
  values.bytes = bytes_of(finding.arguments, values.data, sizeof values.data);
  const gpu::Kernel* kernel = code_.kernel_of(newest->kernel_object, &found.code_object);
  for (const gpu::KernelArgument& from :
       kernel == nullptr ? std::vector<gpu::KernelArgument>() : kernel->arguments) {
    if (from.kind.rfind("hidden_", 0) != 0) found.arguments.push_back(argument(from, values));
  }
  std::erase_if(report_.in_flight, [&](const Dispatch& d) { return d.number == found.number; });
  report_.in_flight.insert(report_.in_flight.begin(), std::move(found));
  report_.culprit = 0;
  report_.how_sure = "its accesses were checked";
}

void Composer::find_culprit() {
  if (report_.finding && goes_on(*report_.finding)) return add_checked();
  std::vector<int> ranks;
  for (size_t i = 0; i < report_.in_flight.size(); ++i) {
    const bool elsewhere = report_.gpu >= 0 && report_.in_flight[i].gpu != report_.gpu;
    ranks.push_back(elsewhere ? -1 : rank_of(report_.in_flight[i]));
    if (elsewhere) continue;
    if (!report_.culprit || ranks[i] > ranks[*report_.culprit]) report_.culprit = i;
  }
  if (!report_.culprit) return;
  const auto candidates = std::count_if(ranks.begin(), ranks.end(), [](int r) { return r >= 0; });
  const int rank = ranks[*report_.culprit];
  report_.how_sure =
      rank >= 8         ? is_live_ ? "its waves run" : "its waves stopped"
      : candidates == 1 ? "nothing else was in flight on this GPU"
      : rank >= 4       ? "the oldest in the queue that stopped"
      : rank >= 2       ? fmt::format(
                              "of {} in flight, the one whose argument is at "
                                    "the address",
                              candidates)
      : rank == 1 && !report_.waits.empty()
          ? fmt::format("the oldest of {} in flight that no barrier holds", candidates)
          : fmt::format("the oldest of {} in flight", candidates);
  use_wave_address();
}

// A fault reports only the page; the wave's registers have the exact address.
void Composer::use_wave_address() {
  if (!report_.has_address || report_.finding) return;
  for (const WaveGroup& group : report_.waves) {
    for (const Wave& wave : group.waves) {
      for (const WaveLane& lane : wave.lanes) {
        if (lane.address / kPage != report_.address / kPage) continue;
        report_.address_is_exact = true;
        report_.address = lane.address;
        return;
      }
    }
  }
}

// The GPU's page tables cannot be read from here, but the fault reasons show what they forbid; and
// the process' own mapping is known.
void Composer::look_at_page() {
  if (report_.has_address) report_.page = gpu_page_text(report_.reasons, report_.gpu);
  if (held_ == nullptr || held_->trouble() != 0) return;
  constexpr uint32_t kException = 0x1016;
  if (report_.status == kException) report_.assertion = find_assertion(*held_);
  if (!report_.has_address) return;
  report_.page += (report_.page.empty() ? "" : "; ") + held_->page_text(report_.address);
}

void Composer::show_code() {
  for (size_t i = 0; i < code_.size(); ++i) report_.code_objects.push_back(code_.open(i).facts);
  for (const WaveGroup& group : report_.waves) {
    if (!counts(group)) continue;
    report_.function = group.function;
    report_.disassembly = group.disassembly;
    return;
  }
}

}  // namespace

FaultReport compose(const Board& board, CodeObjects& code, const Occasion& occasion,
                    const Namer& namer) {
  return Composer(board, code, namer).run(occasion);
}

}  // namespace sonde::fault
