#include "compute/group.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "base/time.h"

namespace softgpu {

namespace {

// For an item whose stack size is unknown: recursion, calls through pointers.
constexpr size_t kUnknownStack = 256 * 1024;
// For a whole group in a loop: one stack for all its items.
constexpr size_t kGroupStack = 4 * 1024 * 1024;
constexpr size_t kFirstFrame = 192;

}  // namespace

GroupRunner::GroupRunner() = default;
GroupRunner::~GroupRunner() {
  if (lds_) munmap(lds_, lds_mapped_);
}

const SoftgpuApi& GroupRunner::api() {
  static constexpr SoftgpuApi table = {
      .barrier = [](SoftgpuItem* item) { wait(lane_of(item), State::kBarrier); },
      .meet = [](SoftgpuItem* item, uint32_t site, uint64_t a,
                 uint64_t b) -> const SoftgpuMeeting* {
        Lane& lane = lane_of(item);
        lane.site = site;
        lane.a = a;
        lane.b = b;
        wait(lane, State::kMeets);
        return &lane.runner->meetings_[item->wave];
      },
      .yield = [](SoftgpuItem* item) { wait(lane_of(item), State::kYields); },
      .print_begin =
          [](SoftgpuItem* item, int to_stderr) {
            uint64_t id = 0;
            ask_host(item, [&](GroupRunner& host) { id = host.printed_.begin(to_stderr != 0); });
            return id;
          },
      .print_string =
          [](SoftgpuItem* item, uint64_t id, const char* text, uint64_t bytes, uint32_t last) {
            ask_host(item, [&](GroupRunner& host) {
              host.printed_.add_text(id, {text, text ? bytes : 0}, last != 0);
            });
          },
      .print_values =
          [](SoftgpuItem* item, uint64_t id, uint32_t count, const uint64_t* values,
             uint32_t last) {
            ask_host(item, [&](GroupRunner& host) {
              host.printed_.add_values(id, values, count, last != 0);
            });
          },
      .allocate =
          [](SoftgpuItem* item, uint64_t bytes) {
            void* memory = nullptr;
            ask_host(item, [&](GroupRunner&) { memory = std::malloc(bytes); });
            return memory;
          },
      .release = [](SoftgpuItem* item,
                    void* memory) { ask_host(item, [&](GroupRunner&) { std::free(memory); }); },
      .clock_ns = [] { return static_cast<uint64_t>(sonde::monotonic_now_ns()); },
  };
  return table;
}

void GroupRunner::wait(Lane& lane, State state) {
  lane.state = state;
  softgpu_fiber_switch(&lane.stack_pointer, lane.runner->fault_.resume);
}

// Host functions need more stack than an item may have.
template <class Request>
void GroupRunner::ask_host(SoftgpuItem* item, const Request& request) {
  auto* runner = reinterpret_cast<GroupRunner*>(item->group->runner);
  bool is_fiber = runner->kernel_->run_item != nullptr;
  Lane& lane = is_fiber ? lane_of(item) : runner->lanes_[0];
  lane.request = [](GroupRunner& host, const void* made) {
    (*static_cast<const Request*>(made))(host);
  };
  lane.requested = &request;
  wait(lane, State::kAsksHost);
}

void GroupRunner::enter_item(void* argument) {
  Lane& lane = *static_cast<Lane*>(argument);
  lane.runner->kernel_->run_item(&lane.item);
  wait(lane, State::kEnded);
}

void GroupRunner::enter_group(void* argument) {
  Lane& lane = *static_cast<Lane*>(argument);
  lane.runner->kernel_->run_group(&lane.runner->group_);
  wait(lane, State::kEnded);
}

// In the low 4 GiB if possible: a pointer to LDS has 32 bits on the GPU, and code may convert it to
// an integer of that size.
bool GroupRunner::prepare_lds() {
  size_t needed = std::max<size_t>(group_.lds_bytes, 64);
  if (needed <= lds_mapped_) return true;
  if (lds_) munmap(lds_, lds_mapped_);
  lds_ = nullptr;
  lds_mapped_ = 0;
  size_t bytes = (needed + 0xffff) & ~size_t{0xffff};
  for (int where : {MAP_32BIT, 0}) {
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | where, -1, 0);
    if (memory == MAP_FAILED) continue;
    lds_ = static_cast<char*>(memory);
    lds_mapped_ = bytes;
    return true;
  }
  return false;
}

bool GroupRunner::prepare_items(const SoftgpuKernel& kernel) {
  size_t count = size_t{group_.size[0]} * group_.size[1] * group_.size[2];
  size_t bytes = kernel.stack_bytes ? kernel.stack_bytes + kFirstFrame : kUnknownStack;
  if (!item_stacks_.reserve(count, bytes, kernel.stack_bytes == 0)) return false;
  lanes_.resize(count);
  meetings_.resize((count + kernel.wave_size - 1) / kernel.wave_size);
  uint32_t index = 0;
  for (uint32_t z = 0; z < group_.size[2]; z++)
    for (uint32_t y = 0; y < group_.size[1]; y++)
      for (uint32_t x = 0; x < group_.size[0]; x++, index++) {
        Lane& lane = lanes_[index];
        lane.item = {&group_,
                     {x, y, z},
                     index % kernel.wave_size,
                     index / kernel.wave_size,
                     item_stacks_.begin(index),
                     item_stacks_.end(index)};
        lane.runner = this;
        lane.state = State::kReady;
        lane.stack_pointer = make_fiber(item_stacks_.end(index), enter_item, &lane);
      }
  return true;
}

Outcome GroupRunner::run(const SoftgpuKernel& kernel, SoftgpuGroup group) {
  kernel_ = &kernel;
  group_ = group;
  group_.api = &api();
  group_.runner = this;
  fault_ = {};
  if (!prepare_lds()) return {Outcome::kTrap, 0, {}};
  group_.lds = lds_;
  if (kernel.run_item) {
    if (!prepare_items(kernel)) return {Outcome::kTrap, 0, {}};
    run_items();
  } else {
    if (!group_stack_.reserve(1, kGroupStack, true)) return {Outcome::kTrap, 0, {}};
    lanes_.resize(std::max<size_t>(lanes_.size(), 1));
    Lane& lane = lanes_[0];
    lane.runner = this;
    lane.state = State::kReady;
    group_.stack_begin = group_stack_.begin(0);
    group_.stack_end = group_stack_.end(0);
    lane.stack_pointer = make_fiber(group_stack_.end(0), enter_group, &lane);
    resume(lane);
  }
  if (fault_.outcome.kind != Outcome::kDone) printed_.forget();
  return fault_.outcome;
}

// Runs the lane until it waits, ends, or faults; handles its requests to the host meanwhile.
void GroupRunner::resume(Lane& lane) {
  do {
    lane.state = State::kReady;
    catch_faults_in(&fault_);
    softgpu_fiber_switch(&fault_.resume, lane.stack_pointer);
    catch_faults_in(nullptr);
    if (fault_.outcome.kind != Outcome::kDone) return;
    if (lane.state == State::kAsksHost) lane.request(*this, lane.requested);
  } while (lane.state == State::kAsksHost);
}

void GroupRunner::run_items() {
  auto waves = static_cast<uint32_t>(meetings_.size());
  while (true) {
    for (uint32_t wave = 0; wave < waves; wave++) {
      run_wave(wave);
      if (fault_.outcome.kind != Outcome::kDone) return;
    }
    auto is = [](State state) { return [state](const Lane& lane) { return lane.state == state; }; };
    if (std::all_of(lanes_.begin(), lanes_.end(), is(State::kEnded))) return;
    // Spinning items may be waiting for another group, on another thread.
    if (!release_barrier()) sched_yield();
  }
}

// True if all items that have not ended had arrived.
bool GroupRunner::release_barrier() {
  for (const Lane& lane : lanes_)
    if (lane.state != State::kBarrier && lane.state != State::kEnded) return false;
  for (Lane& lane : lanes_)
    if (lane.state == State::kBarrier) lane.state = State::kReady;
  return true;
}

// Runs until each lane of the wave has ended, is at a barrier, or spins.
void GroupRunner::run_wave(uint32_t wave) {
  uint32_t first = wave * kernel_->wave_size;
  uint32_t end =
      std::min<uint32_t>(first + kernel_->wave_size, static_cast<uint32_t>(lanes_.size()));
  for (uint32_t i = first; i < end; i++)
    if (lanes_[i].state == State::kYields) lanes_[i].state = State::kReady;
  do {
    for (uint32_t i = first; i < end; i++) {
      if (lanes_[i].state != State::kReady) continue;
      resume(lanes_[i]);
      if (fault_.outcome.kind != Outcome::kDone) return;
    }
  } while (meet(first, end, meetings_[wave]));
}

// Releases the lanes that wait at the first meeting point in program order.
bool GroupRunner::meet(uint32_t first, uint32_t end, SoftgpuMeeting& meeting) {
  uint32_t site = UINT32_MAX;
  for (uint32_t i = first; i < end; i++) {
    if (lanes_[i].state == State::kYields) return false;  // it may still get there
    if (lanes_[i].state == State::kMeets) site = std::min(site, lanes_[i].site);
  }
  if (site == UINT32_MAX) return false;
  meeting.active = meeting.ones = 0;
  for (uint32_t i = first; i < first + SOFTGPU_MAX_WAVE; i++) {
    uint32_t at = i - first;
    meeting.a[at] = meeting.b[at] = 0;
    if (i >= end || lanes_[i].state != State::kMeets || lanes_[i].site != site) continue;
    lanes_[i].state = State::kReady;
    meeting.active |= uint64_t{1} << at;
    meeting.ones |= uint64_t{lanes_[i].a != 0} << at;
    meeting.a[at] = lanes_[i].a;
    meeting.b[at] = lanes_[i].b;
  }
  return true;
}

}  // namespace softgpu
