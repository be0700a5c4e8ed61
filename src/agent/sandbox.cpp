#include "agent/sandbox.h"

#include <limits.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "agent/events.h"
#include "agent/spool.h"
#include "base/next_function.h"

namespace sonde::agent {

namespace {

constexpr uint32_t kThisMachine = AUDIT_ARCH_X86_64;
constexpr int kMemory = 16;  // words that a filter may keep
// Of what a filter decides by a call's arguments, both ways are looked at; of more decisions, and
// more instructions, none.
constexpr int kMostDecisions = 24, kMostSteps = 100'000;

void (*g_prepare)() = nullptr;  // registered by the backend that samples

// A word of a BPF program; what depends on the arguments or the address of a call is not known.
struct Word {
  uint32_t value = 0;
  bool is_known = true;
};

Word calculated(Word a, uint16_t operation, Word by) {
  const bool is_known = a.is_known && (by.is_known || operation == BPF_NEG);
  uint32_t value = a.value;
  switch (operation) {
    case BPF_ADD:
      value += by.value;
      break;
    case BPF_SUB:
      value -= by.value;
      break;
    case BPF_MUL:
      value *= by.value;
      break;
    case BPF_DIV:
      value = by.value != 0 ? value / by.value : 0;
      break;
    case BPF_AND:
      value &= by.value;
      break;
    case BPF_OR:
      value |= by.value;
      break;
    case BPF_XOR:
      value ^= by.value;
      break;
    case BPF_LSH:
      value = by.value < 32 ? value << by.value : 0;
      break;
    case BPF_RSH:
      value = by.value < 32 ? value >> by.value : 0;
      break;
    case BPF_NEG:
      value = -value;
      break;
    default:
      break;
  }
  return {value, is_known};
}

bool compare(uint32_t a, uint16_t operation, uint32_t with) {
  switch (operation) {
    case BPF_JEQ:
      return a == with;
    case BPF_JGT:
      return a > with;
    case BPF_JGE:
      return a >= with;
    case BPF_JSET:
      return (a & with) != 0;
    default:
      return false;
  }
}

bool is_harmless(Word answer) {
  const uint32_t action = answer.value & SECCOMP_RET_ACTION_FULL;
  return answer.is_known &&
         (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG || action == SECCOMP_RET_ERRNO);
}

// A BPF program that is asked about a system call with any arguments.
struct Filter {
  const sock_fprog& program;
  Word number;
  Word a = {}, x = {}, memory[kMemory] = {};

  Word input(uint32_t offset) const {
    if (offset == offsetof(seccomp_data, nr)) return number;
    if (offset == offsetof(seccomp_data, arch)) return {kThisMachine};
    return {0, false};
  }
  void load(const sock_filter& one) {
    const uint16_t mode = BPF_MODE(one.code);
    Word word = {one.k};
    if (mode == BPF_ABS) word = input(one.k);
    if (mode == BPF_LEN) word = {sizeof(seccomp_data)};
    if (mode == BPF_MEM) word = memory[one.k % kMemory];
    (BPF_CLASS(one.code) == BPF_LD ? a : x) = word;
  }
  // All but jumps and returns.
  void execute(const sock_filter& one, Word operand) {
    switch (BPF_CLASS(one.code)) {
      case BPF_LD:
      case BPF_LDX:
        return load(one);
      case BPF_ST:
        memory[one.k % kMemory] = a;
        return;
      case BPF_STX:
        memory[one.k % kMemory] = x;
        return;
      case BPF_ALU:
        a = calculated(a, BPF_OP(one.code), operand);
        return;
      case BPF_MISC:
        if (BPF_MISCOP(one.code) == BPF_TAX) x = a;
        if (BPF_MISCOP(one.code) == BPF_TXA) a = x;
        return;
      default:
        return;
    }
  }
};

// Whether the filter, from an instruction on, does no harm whatever the call's arguments are. Only
// forward jumps exist.
bool does_no_harm(Filter filter, unsigned at, int decisions, int* steps) {
  const sock_fprog& program = filter.program;
  for (; at < program.len; ++at) {
    if (++*steps > kMostSteps) return false;
    const sock_filter& one = program.filter[at];
    const Word operand = BPF_SRC(one.code) == BPF_X ? filter.x : Word{one.k};
    const uint16_t kind = BPF_CLASS(one.code), operation = BPF_OP(one.code);
    if (kind == BPF_RET) {
      return is_harmless(BPF_RVAL(one.code) == BPF_A ? filter.a : Word{one.k});
    }
    if (kind != BPF_JMP) {
      filter.execute(one, operand);
    } else if (operation == BPF_JA) {
      at += one.k;
    } else if (filter.a.is_known && operand.is_known) {
      at += compare(filter.a.value, operation, operand.value) ? one.jt : one.jf;
    } else {
      if (decisions == 0 || !does_no_harm(filter, at + 1 + one.jt, decisions - 1, steps)) {
        return false;
      }
      at += one.jf;
    }
  }
  return true;  // not reached: the kernel rejects a filter without a return
}

}  // namespace

bool forbids_recording(const sock_fprog& filter) {
  static constexpr int kNeeded[] = {SYS_clock_gettime, SYS_close,          SYS_fallocate,
                                    SYS_fchmod,        SYS_fcntl,          SYS_getcwd,
                                    SYS_getpid,        SYS_getppid,        SYS_gettid,
                                    SYS_madvise,       SYS_mkdir,          SYS_mmap,
                                    SYS_munmap,        SYS_nanosleep,      SYS_newfstatat,
                                    SYS_open,          SYS_openat,         SYS_perf_event_open,
                                    SYS_prctl,         SYS_prlimit64,      SYS_pwritev,
                                    SYS_read,          SYS_rt_sigprocmask, SYS_rt_sigreturn,
                                    SYS_timer_delete,  SYS_timer_settime,  SYS_process_vm_readv,
                                    SYS_sigaltstack,   SYS_unlink};
  for (const int number : kNeeded) {
    int steps = 0;
    if (!does_no_harm({filter, {static_cast<uint32_t>(number)}}, 0, kMostDecisions, &steps)) {
      return true;
    }
  }
  return false;
}

void on_silence(void (*prepare)()) { g_prepare = prepare; }

}  // namespace sonde::agent

#ifndef SONDE_AGENT_STATIC
using namespace sonde::agent;

// The reason is the last thing recorded.
static void fall_silent(const char* text) {
  diagnostic(SONDE_WARNING, "agent", text);
  write_last_names();
  if (g_prepare != nullptr) g_prepare();
  store(g_state.balance, INT_MIN / 2);
  store(g_state.silent, 1u);
  store(g_state.clock, sonde::wire::ClockKind::kMonotonic);  // so that ticks() looks at `silent`
  // So that no stack is recognised as a thread's: owns_state().
  t_state.stack = t_state.other_stack = {};
}

// PR_SET_SYSCALL_USER_DISPATCH, which Linux 5.11 has and older headers lack; PR_SYS_DISPATCH_OFF is
// 0.
constexpr int kSetDispatch = 59;

// Also called by the single thread of a child that shares its parent's memory: that must not end
// the parent's recording.
static void before_prctl(int option, unsigned long mode, unsigned long argument) {
  if (option != PR_SET_TSC && option != PR_SET_SECCOMP && option != kSetDispatch) return;
  if (g_state.control == nullptr || load(g_state.silent) != 0) return;
  if (static_cast<uint32_t>(getpid()) != g_state.pid && !is_new_child()) return;
  const sonde::ErrnoKeeper keep;
  if (option == PR_SET_TSC && mode == PR_TSC_SIGSEGV) {
    fall_silent("recording ends here: the program disables reading the time stamp counter");
  } else if (option == kSetDispatch && mode != 0) {
    fall_silent("recording ends here: the program handles its system calls itself");
  } else if (option == PR_SET_SECCOMP && mode == SECCOMP_MODE_STRICT) {
    fall_silent("recording ends here: the program enters seccomp's strict mode");
  } else if (option == PR_SET_SECCOMP && mode == SECCOMP_MODE_FILTER && argument != 0 &&
             forbids_recording(*reinterpret_cast<const sock_fprog*>(argument))) {
    fall_silent(
        "recording ends here: the program's seccomp filter would kill it at system calls that "
        "recording needs");
  }
}

using Prctl = int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long);
static constinit sonde::NextFunction<Prctl> g_next_prctl{"prctl"};

void sonde::agent::find_next_prctl() { g_next_prctl.find(); }

extern "C" __attribute__((visibility("default"))) int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long arguments[4];
  for (unsigned long& argument : arguments) argument = va_arg(list, unsigned long);
  va_end(list);
  before_prctl(option, arguments[0], arguments[1]);
  return g_next_prctl.get()(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
#endif
