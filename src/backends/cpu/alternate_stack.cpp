#include "backends/cpu/alternate_stack.h"

#include <cpuid.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/cpu/arming.h"
#include "backends/cpu/signals.h"

namespace sonde::cpu {

namespace {

// What the handler itself needs before it switches to its own stack, including the red zone below
// the stack pointer.
constexpr uint64_t kHandlerBytes = 1024;
// Besides the register state, on kernels that do not report the sum (before Linux 5.14).
constexpr uint64_t kFrameBytes = 1024;
constexpr size_t kLeastAccepted = 2048;  // by the kernel
constexpr int kMinimumStack = 51;        // AT_MINSIGSTKSZ
constexpr int kGetPermitted = 0x1022;    // ARCH_GET_XCOMP_PERM
// The AMX tile registers, 8 KB, which a program has to request.
constexpr unsigned kTiles = 18;
// XSAVE components from this one on are the tiles and their configuration.
constexpr unsigned kTileSetup = 17;

const struct sonde_agent* g_agent = nullptr;
uint64_t g_frame_bytes = 0;
uint64_t g_tile_bytes = 0;  // part of g_frame_bytes
uint32_t g_told = 0;

// The size of the AMX state, which comes last; 0 if there is none.
uint64_t tile_bytes(unsigned all) {
  unsigned place = 0, size = 0, rest = 0;
  if (__get_cpuid_count(0xd, kTiles, &size, &place, &rest, &rest) == 0 || size == 0) return 0;
  if (__get_cpuid_count(0xd, kTileSetup, &size, &place, &rest, &rest) == 0) return 0;
  return place != 0 && place < all ? all - place : 0;
}

// Called only if a program has alternate stacks: cpuid is slow in a virtual machine.
void measure_frame() {
  unsigned all = 0, rest = 0;
  if (__get_cpuid_count(0xd, 0, &rest, &all, &rest, &rest) == 0) all = 512;
  const uint64_t told = getauxval(kMinimumStack);
  g_tile_bytes = tile_bytes(all);
  agent::store_release(g_frame_bytes, told != 0 ? told : all + kFrameBytes);
}

uint64_t needed_bytes() {
  if (agent::load_acquire(g_frame_bytes) == 0) measure_frame();
  uint64_t permitted = 0;
  const bool no_tiles = g_tile_bytes != 0 &&
                        syscall(SYS_arch_prctl, kGetPermitted, &permitted) == 0 &&
                        (permitted >> kTiles & 1) == 0;
  return g_frame_bytes - (no_tiles ? g_tile_bytes : 0) + kHandlerBytes;
}

stack_t current_stack() {
  stack_t now = {};
  now.ss_flags = SS_DISABLE;
  syscall(SYS_sigaltstack, nullptr, &now);
  return now;
}

bool is_lent(const ThreadSampler& sampler, const stack_t& stack) {
  return stack.ss_sp == sampler.signal_stack + kGuardBytes;
}

stack_t lent(ThreadSampler& sampler) {
  stack_t ours = {};
  ours.ss_sp = sampler.signal_stack + kGuardBytes;
  ours.ss_size = kSignalStackBytes;
  return ours;
}

// False, and nothing changes, if the thread is running on its alternate stack.
bool exchange(const stack_t& stack, stack_t* before) {
  return syscall(SYS_sigaltstack, &stack, before) == 0;
}

bool has_room(const stack_t& stack) { return stack.ss_size >= needed_bytes(); }

// Reported once per process, counted each time.
void rest_for_want_of_room(ThreadSampler& sampler, const stack_t& stack) {
  rest(sampler);
  if (__atomic_exchange_n(&g_told, 1, __ATOMIC_RELAXED) != 0) return;
  char text[200];
  snprintf(text, sizeof text,
           "a thread is not sampled: its alternate signal stack has %zu bytes, and a signal needs "
           "%llu on this machine",
           stack.ss_size, static_cast<unsigned long long>(needed_bytes()));
  g_agent->diagnostic(SONDE_WARNING, "cpu", text);
}

}  // namespace

void prepare_stacks(const struct sonde_agent* agent) { g_agent = agent; }

// A thread usually has no alternate stack, so ours is installed first, and the thread's own is
// restored if it has one.
void lend_stack(ThreadSampler& sampler) {
  stack_t now = {};
  const bool done = exchange(lent(sampler), &now);
  if (!done) now = current_stack();  // the thread is running on it
  if ((now.ss_flags & SS_DISABLE) != 0 || is_lent(sampler, now)) return;
  if (done) exchange(now, nullptr);
  if (!has_room(now)) rest_for_want_of_room(sampler, now);
}

bool take_stack_back(ThreadSampler& sampler) {
  stack_t none = {}, now = {};
  none.ss_flags = SS_DISABLE;
  if (!exchange(none, &now)) return !is_lent(sampler, current_stack());
  if ((now.ss_flags & SS_DISABLE) == 0 && !is_lent(sampler, now)) exchange(now, nullptr);
  return true;
}

int alternate_stack(const stack_t* wanted, stack_t* before, AlternateStack next) {
  ThreadSampler* self = this_sampler();
  const stack_t now = current_stack();
  if (self == nullptr || sampling_signal() == 0 || !is_this_process() ||
      (!is_lent(*self, now) && self->armed == 0)) {
    return next(wanted, before);
  }
  stack_t told = now;
  if (is_lent(*self, now)) {
    told = {};
    told.ss_flags = SS_DISABLE;
  }
  int result = 0;
  if (wanted != nullptr && (wanted->ss_flags & SS_DISABLE) != 0) {
    // While the program runs on its own alternate stack, the kernel refuses, as it would without
    // us.
    result = is_lent(*self, now) ? 0 : next(wanted, nullptr);
    if (result == 0 && !is_lent(*self, now)) exchange(lent(*self), nullptr);
  } else if (wanted != nullptr) {
    const stack_t asked = *wanted;
    if (self->rests == 0 && asked.ss_size >= kLeastAccepted && !has_room(asked)) {
      rest_for_want_of_room(*self, asked);
    }
    result = next(&asked, nullptr);
  }
  if (result == 0 && before != nullptr) *before = told;
  return result;
}

}  // namespace sonde::cpu
