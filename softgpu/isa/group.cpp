#include "isa/group.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace softgpu::isa {
namespace {

constexpr uint64_t kTurn = 20'000;  // instructions until it is the next wave's turn
// Turns of all waves until it is other groups' turn: these waves may be waiting for one.
constexpr uint32_t kFirstRounds = 64, kLaterRounds = 1;
constexpr size_t kStackBytes = 256 * 1024;

void* map(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Makes room for so many bytes; growing discards the contents.
bool grow(void*& memory, size_t& mapped, size_t bytes) {
  if (bytes <= mapped) return true;
  if (memory != nullptr) munmap(memory, mapped);
  mapped = (bytes + 0xffff) & ~size_t{0xffff};
  memory = map(mapped);
  if (memory == nullptr) mapped = 0;
  return memory != nullptr;
}

// Whether no trap handler lets the wave continue. They may return from traps other than llvm.trap.
bool ends_queue(const Wave& wave) {
  constexpr uint32_t kAbort = 2;
  return wave.stop != Stop::kTrap || wave.trap_id == kAbort;
}

}  // namespace

GroupRunner::~GroupRunner() {
  for (Wave* wave : waves_) munmap(wave, sizeof(Wave));
  if (lds_ != nullptr) munmap(lds_, lds_mapped_);
  if (private_ != nullptr) munmap(private_, private_mapped_);
}

bool GroupRunner::prepare(const Launch& launch, uint32_t waves) {
  while (waves_.size() < waves) {
    void* memory = map(sizeof(Wave));
    if (memory == nullptr) return false;
    waves_.push_back(static_cast<Wave*>(memory));
    clear(*waves_.back());
  }
  // Private memory interleaves the dwords of the lanes, so its size is rounded up to dwords.
  const uint32_t private_bytes = (launch.private_bytes + 3) & ~3U;
  state_.private_bytes = private_bytes;
  state_.lds_bytes = launch.lds_bytes;
  state_.interrupt = launch.interrupt;
  state_.clock = launch.clock;
  state_.doorbell = launch.doorbell;
  state_.sync = launch.sync;
  state_.context = launch.context;
  if (!grow(lds_, lds_mapped_, std::max<size_t>(launch.lds_bytes, 64))) return false;
  if (!grow(private_, private_mapped_, size_t{private_bytes} * kLanes * waves)) return false;
  state_.lds = static_cast<uint8_t*>(lds_);
  return stack_.reserve(1, kStackBytes, true);
}

void GroupRunner::start(Wave& wave, const Launch& launch, const uint32_t (&size)[3]) {
  const sonde::gpu::KernelDescriptor& kernel = launch.descriptor;
  wave.pc = launch.entry;
  wave.scc = wave.gpr_index = wave.trap_id = wave.trap_status = 0;
  wave.is_in_handler = wave.is_halted = false;
  wave.wait = {};
  wave.mode = kernel.float_mode() | uint32_t{kernel.clamps_like_dx10()} << 8 |
              uint32_t{kernel.is_ieee()} << 9;
  wave.group = &state_;
  wave.executed = 0;
  wave.private_memory =
      static_cast<uint8_t*>(private_) + size_t{state_.private_bytes} * kLanes * wave.number;
  std::fill(wave.s, wave.s + sonde::gpu::kZero, 0);
  set_trap_registers(wave,
                     {launch.ring_packet, {state_.id[0], state_.id[1], state_.id[2]}, wave.number});
  const auto scratch = reinterpret_cast<uint64_t>(wave.private_memory);
  unsigned at = 0;
  const auto put = [&](uint64_t value) {
    wave.set64(at, value);
    at += 2;
  };
  if (kernel.has_private_buffer()) {
    put((scratch & 0xffffffffffff) | uint64_t{1} << 63);  // swizzled
    put(uint64_t{0x00e00000} << 32 | 0xffffffff);         // 64 lanes interleaved, lane id added
  }
  if (kernel.has_dispatch_pointer()) put(launch.packet);
  if (kernel.has_queue_pointer()) put(launch.queue);
  if (kernel.has_kernarg_pointer()) put(launch.kernarg);
  if (kernel.has_dispatch_id()) put(0);
  if (kernel.has_flat_scratch()) put(scratch);
  if (kernel.has_private_size()) wave.s[at++] = state_.private_bytes;
  at = std::max(at, kernel.user_sgprs());
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (kernel.has_group_id(axis)) wave.s[at++] = state_.id[axis];
  }
  if (kernel.has_group_info()) wave.s[at++] = 0;
  if (kernel.has_scratch_offset()) wave.s[at++] = 0;  // the address includes it already

  const uint32_t items = size[0] * size[1] * size[2], first = wave.number * kLanes;
  uint64_t exec = 0;
  for (uint32_t lane = 0; lane < kLanes && first + lane < items; ++lane) {
    const uint32_t item = first + lane, x = item % size[0], y = item / size[0] % size[1],
                   z = item / size[0] / size[1];
    wave.v[0][lane] = launch.packs_item_ids ? x | y << 10 | z << 20 : x;
    if (!launch.packs_item_ids) {
      wave.v[1][lane] = y;
      wave.v[2][lane] = z;
    }
    exec |= uint64_t{1} << lane;
  }
  wave.set64(sonde::gpu::kExec, exec);
  wave.s[sonde::gpu::kM0] = ~0U;
}

bool GroupRunner::begin(const Launch& launch, const uint32_t (&id)[3], const uint32_t (&size)[3],
                        uint64_t number) {
  const uint32_t items = size[0] * size[1] * size[2];
  count_ = (items + kLanes - 1) / kLanes;
  launch_ = &launch;
  fault_.outcome = {};
  rounds_left_ = kFirstRounds;
  is_shown_ = false;
  if (!prepare(launch, count_)) return false;
  std::copy(std::begin(id), std::end(id), state_.id);
  stops_.assign(count_, Stop::kBudget);
  state_.watch = launch.watch != nullptr ? &watch_ : nullptr;
  if (launch.watch != nullptr) {
    own_memory_ = launch.own_memory();
    watch_.begin(*launch.watch, {number, launch.program->begin(), count_, launch.entry,
                                 launch.lds_bytes, &launch.descriptor, own_memory_});
  }
  for (uint32_t i = 0; i < count_; ++i) {
    waves_[i]->number = i;
    start(*waves_[i], launch, size);
    if (launch.hold != nullptr) waves_[i]->is_halted = launch.begins_halted(launch.context);
    if (launch.watch != nullptr) watch_.starts(*waves_[i]);
  }
  return true;
}

Outcome GroupRunner::resume() {
  is_waiting_ = false;
  if (parked_in_ != nullptr) {
    std::exchange(parked_in_, nullptr)->begin_parked(parked_);
  } else if (launch_->hold != nullptr) {
    launch_->hold->begin();
  }
  // Runs on a stack of its own, which is abandoned at a fault.
  fiber_ = make_fiber(stack_.end(0), enter, this);
  catch_faults_in(&fault_);
  softgpu_fiber_switch(&fault_.resume, fiber_);
  catch_faults_in(nullptr);
  // A fault occurred there.
  if (std::exchange(is_in_host_trap_, false)) launch_->host_traps->leave();
  if (is_waiting_) {
    if (launch_->hold != nullptr) {
      parked_ = stopped_group();
      parked_in_ = launch_->hold;
      parked_in_->end_parked(parked_, [this] { answer_demand(); });
    }
    return {};
  }
  for (uint32_t i = 0; i < count_; ++i) executed_ += waves_[i]->executed;
  Outcome outcome = fault_.outcome;
  if (outcome.kind == Outcome::kMemoryFault && current_->stop != Stop::kBadAccess) {
    char text[128];
    std::snprintf(text, sizeof(text), "memory fault before %#llx (code + %#llx)",
                  static_cast<unsigned long long>(current_->pc),
                  static_cast<unsigned long long>(current_->pc - launch_->program->begin()));
    outcome.detail = text;
  }
  if (launch_->watch != nullptr) {
    show_failure(outcome);
    watch_.end();
  }
  if (launch_->hold != nullptr) {
    keep_failed(outcome);
    launch_->hold->end();
  }
  return outcome;
}

void GroupRunner::leave() {
  if (parked_in_ != nullptr) std::exchange(parked_in_, nullptr)->forget_parked(parked_);
}

StoppedGroup GroupRunner::stopped_group() {
  StoppedGroup group;
  for (uint32_t i = 0; i < count_; ++i) {
    if (stops_[i] != Stop::kEnd) group.waves.push_back(waves_[i]);
  }
  group.lds = {state_.lds, state_.lds_bytes};
  group.registers = registers_of(launch_->program->architecture(), launch_->descriptor);
  return group;
}

// Keeps the failed waves for a debugger that comes later: as after ROCr's trap handler, even if
// that has not run.
void GroupRunner::keep_failed(const Outcome& outcome) {
  if (outcome.kind == Outcome::kDone || outcome.kind == Outcome::kStopped) return;
  Wave& failed = *current_;
  if (!outcome.is_told) {
    const Op* op =
        outcome.kind == Outcome::kMemoryFault ? launch_->program->before(failed.pc) : nullptr;
    if (op != nullptr) failed.pc = op->address;
    if (outcome.kind == Outcome::kMemoryFault) failed.trap_status |= kMemoryFaultCause;
    mark_stopped(failed, failed.pc);
  }
  launch_->hold->keep(stopped_group());
}

// Called before the trap handler runs: as soon as that stores the error, ROCr may abort the program
// on another thread.
void GroupRunner::tell_failure(const Outcome& outcome) {
  if (state_.watch != nullptr) show_failure(outcome);
  if (launch_->fails != nullptr) launch_->fails(launch_->context, outcome);
}

void GroupRunner::show_failure(const Outcome& outcome) {
  if (std::exchange(is_shown_, true)) return;
  constexpr std::pair<Outcome::Kind, const char*> kFailures[] = {
      {Outcome::kMemoryFault, "memory_fault"},
      {Outcome::kTrap, "trap"},
      {Outcome::kIllegalInstruction, "illegal_instruction"},
      {Outcome::kApertureViolation, "aperture_violation"}};
  for (const auto& [kind, why] : kFailures) {
    if (kind == outcome.kind) watch_.show(*current_, why, launch_->descriptor);
  }
}

void GroupRunner::enter(void* runner) {
  auto& self = *static_cast<GroupRunner*>(runner);
  self.run_waves();
  softgpu_fiber_switch(&self.fiber_, self.fault_.resume);
}

void GroupRunner::run_waves() {
  WaveHold* const hold = launch_->hold;
  while (true) {
    if (launch_->stopped != nullptr && launch_->stopped->load(std::memory_order_relaxed)) {
      fault_.outcome = {Outcome::kStopped, 0, {}};
      return;
    }
    if (hold != nullptr && hold->is_wanted()) {
      hold->stay(stopped_group(), [this] { answer_demand(); });
      continue;
    }
    answer_demand();
    Round round;
    if (!run_round(round)) return;
    if (round.is_halted && hold != nullptr) {
      hold->wait_until_wanted();  // a debugger has halted the remaining waves
      continue;
    }
    if (round.has_progress && --rounds_left_ != 0) continue;
    rounds_left_ = kLaterRounds;
    is_waiting_ = true;
    return;
  }
}

void GroupRunner::answer_demand() {
  if (state_.watch == nullptr || !watch_.is_asked()) return;
  for (uint32_t i = 0; i < count_; ++i) {
    if (stops_[i] != Stop::kEnd) watch_.show(*waves_[i], "demand", launch_->descriptor);
  }
}

// One turn of each wave that can run. False when all have ended, or one has failed.
bool GroupRunner::run_round(Round& round) {
  uint32_t ended = 0, waiting = 0;
  bool can_run = false;
  for (uint32_t i = 0; i < count_; ++i) {
    Stop& stop = stops_[i];
    Wave& wave = *waves_[i];
    if (stop == Stop::kGlobalWait && launch_->sync->is_over(wave.wait)) stop = Stop::kBudget;
    can_run |= stop == Stop::kGlobalWait || (stop == Stop::kBudget && !wave.is_halted);
    if (stop == Stop::kBudget && !wave.is_halted) {
      if (!take_turn(wave)) return false;
      stop = wave.stop;
      round.has_progress |= !wave.yields;
    }
    ended += stop == Stop::kEnd;
    waiting += stop == Stop::kBarrier;
  }
  if (waiting != 0 && waiting + ended == count_) {
    std::replace(stops_.begin(), stops_.end(), Stop::kBarrier, Stop::kBudget);
    if (state_.watch != nullptr) watch_.passes_barrier();
    round.has_progress = true;
  } else {
    round.is_halted = !can_run && ended < count_;
  }
  return ended < count_;
}

void GroupRunner::run_turn(Wave& wave) {
  uint64_t left = kTurn;
  const HostTraps* const traps = launch_->host_traps;
  while (traps != nullptr && traps->is_on()) {
    const uint64_t before = wave.executed;
    isa::run(wave, *launch_->program, std::min<uint64_t>(left, until_host_trap_));
    const uint64_t ran = wave.executed - before;
    left -= std::min(left, ran);
    until_host_trap_ -= static_cast<uint32_t>(std::min<uint64_t>(until_host_trap_, ran));
    if (until_host_trap_ == 0) {
      until_host_trap_ = HostTraps::distance(random_);
      if (wave.stop == Stop::kBudget) take_host_trap(wave);
    }
    if (wave.stop != Stop::kBudget || wave.yields || left == 0) return;
  }
  isa::run(wave, *launch_->program, left);
}

// The wave continues afterwards; if the handler does anything else, the wave has stopped at a trap.
void GroupRunner::take_host_trap(Wave& wave) {
  if (!launch_->host_traps->enter(last_host_trap_)) return;
  is_in_host_trap_ = true;
  const TrapHandler handler = launch_->handler_now(launch_->context);
  // Without its own memory, a handler has no place for samples.
  if (handler.program != nullptr && handler.memory != 0) {
    GroupWatch* const watch = std::exchange(state_.watch, nullptr);
    if (run_host_trap(wave, handler) != AfterTrap::kContinues) wave.stop = Stop::kHalt;
    state_.watch = watch;
  }
  is_in_host_trap_ = false;
  launch_->host_traps->leave();
}

bool GroupRunner::take_turn(Wave& wave) {
  current_ = &wave;
  run_turn(wave);
  if (wave.stop == Stop::kBudget || wave.stop == Stop::kEnd || wave.stop == Stop::kBarrier ||
      wave.stop == Stop::kGlobalWait)
    return true;
  if (wave.stop == Stop::kBadAccess) {
    // On a GPU this may have been a fault, or nothing, by chance: no trap handler runs.
    const Finding& found = watch_.bad_access();
    fault_.outcome = {found.is_local ? Outcome::kApertureViolation : Outcome::kMemoryFault,
                      found.address, text_of(found)};
    return false;
  }
  return handle_trap(wave);
}

// False if the wave has halted; then the outcome is the dispatch's.
bool GroupRunner::handle_trap(Wave& wave) {
  Outcome outcome = stopped_at(wave);
  const bool has_handler = launch_->trap_handler.program != nullptr && wave.stop != Stop::kHalt &&
                           wave.stop != Stop::kOutsideCode;
  if (has_handler) {
    if (ends_queue(wave)) tell_failure(outcome);
    // Observers see the kernel, not the handler, and a halted wave in its original state: ROCr's
    // handler leaves M0 and the program counter modified.
    const uint64_t pc = wave.pc;
    uint32_t registers[sizeof(Wave::s) / sizeof(uint32_t)];
    std::copy(std::begin(wave.s), std::end(wave.s), registers);
    GroupWatch* const watch = std::exchange(state_.watch, nullptr);
    uint32_t told = 0;
    if (launch_->hold != nullptr) state_.driver_interrupt = &told;
    const AfterTrap after = run_trap_handler(wave, launch_->trap_handler);
    state_.driver_interrupt = nullptr;
    state_.watch = watch;
    outcome.exceptions = told >> 10 & 0x1ff;  // above the doorbell id
    if (after == AfterTrap::kContinues) return true;
    wave.pc = pc;
    std::copy(registers, registers + sonde::gpu::kTtmp, wave.s);
    std::copy(registers + sonde::gpu::kM0, std::end(registers), wave.s + sonde::gpu::kM0);
    outcome.is_told = after == AfterTrap::kHalted;
  }
  fault_.outcome = std::move(outcome);
  return false;
}

Outcome GroupRunner::stopped_at(const Wave& wave) const {
  char place[64];
  std::snprintf(place, sizeof(place), " at %#llx (code + %#llx)",
                static_cast<unsigned long long>(wave.pc),
                static_cast<unsigned long long>(wave.pc - launch_->program->begin()));
  switch (wave.stop) {
    case Stop::kUnknownInstruction: {
      const Op* op = launch_->program->at(wave.pc);
      return {Outcome::kIllegalInstruction, wave.pc,
              "instruction " + name_of(*op) + place + " is unknown"};
    }
    case Stop::kOutsideCode:
      return {Outcome::kIllegalInstruction, wave.pc, std::string("it left its code") + place};
    case Stop::kMemoryViolation:
      return {Outcome::kApertureViolation, wave.pc,
              std::string("an access outside of its LDS or private memory before") + (place + 3)};
    case Stop::kHalt:
      return {Outcome::kTrap, wave.pc, std::string("it halts before") + (place + 3)};
    default:
      return {Outcome::kTrap, wave.pc, "trap " + std::to_string(wave.trap_id) + place};
  }
}

}  // namespace softgpu::isa
