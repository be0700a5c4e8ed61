// Kernel dispatches: checks, scratch memory, scripted faults, and computing.
#include <cstring>
#include <vector>

#include "device/aql.h"

namespace softgpu {
namespace {

constexpr uint32_t kMaxGroupItems = 1024;
constexpr uint32_t kMaxGroupBytes = 64 * 1024;

uint64_t items(const uint32_t (&grid)[3]) { return uint64_t{grid[0]} * grid[1] * grid[2]; }

// The kernarg segment with GPU addresses of registered memory replaced by host pointers; empty if
// there are none, which is nearly always. A pointer stored in memory is not found: using it faults.
std::vector<uint64_t> with_own_addresses(uint64_t kernarg, uint32_t bytes,
                                         const GpuMemory& memory) {
  if (kernarg == 0 || memory.check(kernarg, bytes)) return {};
  const auto* given = reinterpret_cast<const uint64_t*>(kernarg);
  std::vector<uint64_t> words;
  for (size_t i = 0; i < bytes / 8; ++i) {
    const uint64_t own = memory.own_address(given[i]);
    if (own == given[i]) continue;
    if (words.empty()) {
      words.resize((bytes + 7) / 8);
      std::memcpy(words.data(), given, bytes);
    }
    words[i] = own;
  }
  return words;
}

}  // namespace

Step AqlQueue::start_dispatch() {
  if (!check_dispatch() || needs_scratch()) return {Step::kProgress};
  describe_kernel();
  if (strike()) return {Step::kProgress};
  if (blit_ && blit_->stream_op && !stream_op_ready(*blit_->stream_op)) {
    state_ = State::kStreamOp;
    return {Step::kBlocked};
  }
  if (is_long()) {
    state_ = State::kLong;
    return {Step::kLong};
  }
  return execute_kernel();
}

bool AqlQueue::check_dispatch() {
  const AqlDispatch& packet = packet_.dispatch;
  uint64_t group = uint64_t{packet.group[0]} * packet.group[1] * packet.group[2];
  if (group == 0 || items(packet.grid) == 0) {
    fail(kBadDimensions);
  } else if (group > kMaxGroupItems) {
    fail(kGroupTooLarge);
  } else if (packet.group_bytes > kMaxGroupBytes) {
    fail(kBadGroupMemory);
  } else if (Fault fault = memory_.check(packet.kernel_object, 64)) {
    page_fault(*fault, MemoryFault::kNotPresent);
  } else {
    return true;
  }
  return false;
}

// The packet stays in place until ROCr has provided the memory: its handler reads the packet.
bool AqlQueue::needs_scratch() {
  if (packet_.dispatch.private_bytes <= shared().scratch_wave64_lane_bytes) return false;
  state_ = State::kScratch;
  store_signal(services_.host, shared().inactive_signal, kScratchRequest);
  return true;
}

void AqlQueue::describe_kernel() {
  const AqlDispatch& packet = packet_.dispatch;
  name_ = names_.find(packet.kernel_object);
  blit_ = recognise_blit(name_, packet, memory_);
  record_.name = name_;
  for (int i = 0; i < 3; ++i) {
    record_.grid[i] = packet.grid[i];
    record_.group[i] = packet.group[i];
  }
  if (!blit_ || !blit_->transfer) return;
  record_.transfer = blit_->transfer->kind == Transfer::kFill ? "fill" : "copy";
  record_.bytes = blit_->transfer->bytes();
  record_.src = blit_->transfer->src;
  record_.dst = blit_->transfer->dst;
}

// Whether the fault script struck.
bool AqlQueue::strike() {
  const FaultRule* rule = services_.faults.dispatch(spec_.gpu, name_, blit_.has_value());
  if (!rule) return false;
  switch (rule->kind) {
    case FaultKind::kMemoryFault:
      page_fault(rule->address, MemoryFault::kNotPresent);
      break;
    case FaultKind::kEcc:
      page_fault(rule->address, MemoryFault::kEcc);
      break;
    case FaultKind::kIllegalInstruction:
      fail(kIllegalInstructionError);
      break;
    case FaultKind::kInvalidPacket:
      fail(kBadPacket);
      break;
    case FaultKind::kException:
      fail(kExceptionError);
      break;
    case FaultKind::kApertureViolation:
      fail(kApertureError);
      break;
    case FaultKind::kHang:
      consume();
      faulted("hang");
      break;
    case FaultKind::kDeviceLost:
      faulted("device_lost");
      gpu_.lost = true;
      services_.host.hardware_fault(spec_.gpu);
      break;
  }
  return true;
}

bool AqlQueue::is_long() const {
  if (blit_) return blit_->transfer && blit_->transfer->bytes() > kLongBytes;
  return uses_host_code() || uses_machine_code();
}

bool AqlQueue::uses_host_code() const {
  const EngineChoice engine = services_.config.engine;
  if (engine != EngineChoice::kAuto && engine != EngineChoice::kHost) return false;
  if (!services_.executor.knows(name_)) return false;
  // Only machine code has instructions to count, places to sample and accesses to check, and only
  // its groups yield to others.
  const isa::HostTraps* const traps = services_.host.host_traps(spec_.gpu);
  const bool better_as_machine_code = gpu_.counters.is_counting() || services_.check != nullptr ||
                                      (traps != nullptr && traps->is_on()) ||
                                      services_.executor.watches_memory(name_);
  return engine == EngineChoice::kHost || !better_as_machine_code || !uses_machine_code();
}

bool AqlQueue::uses_machine_code() const {
  const EngineChoice engine = services_.config.engine;
  if (engine != EngineChoice::kAuto && engine != EngineChoice::kIsa) return false;
  return machine_code_.find(packet_.dispatch.kernel_object).has_value();
}

void AqlQueue::run_long() { execute_kernel(); }

void AqlQueue::tell(const Outcome& outcome) {
  if (outcome.detail.empty()) return;
  services_.notices.once("kernel " + name_ + ": " + outcome.detail);
}

Outcome AqlQueue::run_kernel(const Dispatch& dispatch, const AqlDispatch& packet) {
  if (uses_host_code()) return services_.executor.run(name_, dispatch);
  if (!uses_machine_code()) return {Outcome::kNoCode, 0, {}};
  const auto place = machine_code_.find(packet.kernel_object);
  isa::Launch launch = machine_code_.launch(packet, reinterpret_cast<uint64_t>(dispatch.kernarg),
                                            reinterpret_cast<uint64_t>(shared_));
  launch.context = this;
  launch.interrupt = [](void* queue, uint32_t event) {
    // 0 comes from ROCr's trap handler, for the queue's error: fail() handles it once all is
    // reported.
    if (event != 0) static_cast<AqlQueue*>(queue)->services_.host.set_event(event);
  };
  launch.fails = [](void* queue, const Outcome& outcome) {
    static_cast<AqlQueue*>(queue)->tell(outcome);
  };
  const Host::TrapHandler handler = services_.host.trap_handler(spec_.gpu);
  launch.trap_handler = machine_code_.trap_handler(handler.code, handler.memory);
  launch.host_traps = services_.host.host_traps(spec_.gpu);
  launch.handler_now = [](void* queue) {
    const auto& self = *static_cast<AqlQueue*>(queue);
    const Host::TrapHandler now = self.services_.host.trap_handler(self.spec_.gpu);
    return self.machine_code_.trap_handler(now.code, now.memory);
  };
  launch.doorbell = spec_.id;
  launch.stopped = &stopped();
  if (services_.host.is_debuggable()) launch.hold = &waves();
  launch.begins_halted = [](void* queue) {
    return static_cast<AqlQueue*>(queue)->services_.host.halts_new_waves();
  };
  launch.ring_packet = next_ % ring_packets();
  launch.clock = [](void* queue) {
    return device_ticks(static_cast<AqlQueue*>(queue)->gpu_.config.clock);
  };
  isa::Watch watch = gpu_.counters.watch();
  watch.kernel = name_;
  watch.gpu = spec_.gpu;
  watch.dispatch = gpu_.dispatches++;
  watch.waves = services_.waves;
  watch.trace = services_.instructions;
  watch.check = services_.check;
  watch.tell = [this](const std::string& text) { services_.notices.once(text); };
  if (watch.is_needed()) launch.watch = &watch;
  return services_.executor.run(*machine_code_.kernel(*place, launch), dispatch);
}

// Runs the kernel's host code or its machine code, if there is any. False after a fault.
bool AqlQueue::compute() {
  const AqlDispatch packet = packet_.dispatch;
  const auto& descriptor = *reinterpret_cast<const KernelDescriptor*>(packet.kernel_object);
  Dispatch dispatch;
  for (int i = 0; i < 3; ++i) {
    dispatch.grid[i] = packet.grid[i];
    dispatch.group[i] = packet.group[i];
  }
  dispatch.dynamic_group_bytes =
      packet.group_bytes > descriptor.group_bytes ? packet.group_bytes - descriptor.group_bytes : 0;
  dispatch.packet = &packet;
  const std::vector<uint64_t> arguments =
      with_own_addresses(packet.kernarg, descriptor.kernarg_bytes, memory_);
  dispatch.kernarg =
      arguments.empty() ? reinterpret_cast<const void*>(packet.kernarg) : arguments.data();
  dispatch.wave_size = descriptor.properties & kWave32 ? 32 : 64;
  Outcome outcome = run_kernel(dispatch, packet);
  tell(outcome);
  switch (outcome.kind) {
    case Outcome::kMemoryFault:
      page_fault(outcome.address, MemoryFault::kNotPresent);
      return false;
    case Outcome::kTrap:
      fail(kExceptionError, outcome);
      return false;
    case Outcome::kIllegalInstruction:
      fail(kIllegalInstructionError, outcome);
      return false;
    case Outcome::kApertureViolation:
      fail(kApertureError, outcome);
      return false;
    case Outcome::kStopped:
      faulted("stopped");
      return false;
    case Outcome::kDone:
      record_.computed = true;
      break;
    case Outcome::kNoCode:
      services_.notices.once("kernel " + (name_.empty() ? "without a name" : name_) +
                             (services_.config.engine == EngineChoice::kHost
                                  ? " has no host code"
                                  : " has no code that can be run here") +
                             ": completed without computing");
  }
  return true;
}

Step AqlQueue::execute_kernel() {
  begin_work(!record_.transfer.empty());
  const TimeModel& time = gpu_.config.time;
  double model_ns = static_cast<double>(time.kernel_base_ns) +
                    time.kernel_item_ns * static_cast<double>(items(packet_.dispatch.grid));
  if (blit_ && blit_->transfer) {
    if (Fault fault = run_transfer(*blit_->transfer, memory_)) {
      page_fault(*fault, MemoryFault::kNotPresent);
      return {Step::kProgress};
    }
    model_ns = copy_ns(blit_->transfer->bytes(), true);
    record_.computed = true;
  } else if (blit_) {
    run_stream_op(*blit_->stream_op);
    record_.computed = true;
  } else {
    if (!compute()) return {Step::kProgress};
    // The counters of time take as long as what they count.
    gpu_.counters.end_dispatch();
    const double busy_ns = gpu_.counters.busy_ns();
    if (busy_ns > 0) model_ns = static_cast<double>(time.kernel_base_ns) + busy_ns;
  }
  consume();
  run_until(end_of(record_.start_ns, model_ns));
  gpu_.counters.kernel_ran(record_.start_ns, time_ns_);
  return {Step::kProgress};
}

}  // namespace softgpu
