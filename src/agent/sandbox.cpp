#include "agent/sandbox.h"

#include <limits.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "agent/events.h"
#include "agent/spool.h"
#include "base/next_function.h"

namespace sonde::agent {

namespace {

constexpr uint32_t kThisMachine = AUDIT_ARCH_X86_64;
constexpr int kMemory = 16;  // words that a filter may keep

void (*g_prepare)() = nullptr;  // registered by the backend that samples

// The registers and inputs of a BPF program.
struct Filter {
  seccomp_data data = {};
  uint32_t a = 0, x = 0, memory[kMemory] = {};

  uint32_t word(uint32_t offset) const {
    uint32_t value = 0;
    if (offset <= sizeof data - sizeof value) {
      memcpy(&value, reinterpret_cast<const char*>(&data) + offset, sizeof value);
    }
    return value;
  }
  void calculate(uint16_t operation, uint32_t by) {
    switch (operation) {
      case BPF_ADD:
        a += by;
        break;
      case BPF_SUB:
        a -= by;
        break;
      case BPF_MUL:
        a *= by;
        break;
      case BPF_DIV:
        a = by != 0 ? a / by : 0;
        break;
      case BPF_AND:
        a &= by;
        break;
      case BPF_OR:
        a |= by;
        break;
      case BPF_XOR:
        a ^= by;
        break;
      case BPF_LSH:
        a = by < 32 ? a << by : 0;
        break;
      case BPF_RSH:
        a = by < 32 ? a >> by : 0;
        break;
      case BPF_NEG:
        a = -a;
        break;
      default:
        break;
    }
  }
  bool compare(uint16_t operation, uint32_t with) const {
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
  void load(const sock_filter& one) {
    const uint16_t mode = BPF_MODE(one.code);
    uint32_t value = one.k;
    if (mode == BPF_ABS) value = word(one.k);
    if (mode == BPF_LEN) value = sizeof data;
    if (mode == BPF_MEM) value = memory[one.k % kMemory];
    (BPF_CLASS(one.code) == BPF_LD ? a : x) = value;
  }
};

// What the filter returns for a system call with all arguments 0. Filters only jump forward.
uint32_t answer(const sock_fprog& program, int number) {
  Filter filter;
  filter.data.nr = number;
  filter.data.arch = kThisMachine;
  for (unsigned at = 0; at < program.len; ++at) {
    const sock_filter& one = program.filter[at];
    const uint32_t operand = BPF_SRC(one.code) == BPF_X ? filter.x : one.k;
    switch (BPF_CLASS(one.code)) {
      case BPF_LD:
      case BPF_LDX:
        filter.load(one);
        break;
      case BPF_ST:
        filter.memory[one.k % kMemory] = filter.a;
        break;
      case BPF_STX:
        filter.memory[one.k % kMemory] = filter.x;
        break;
      case BPF_ALU:
        filter.calculate(BPF_OP(one.code), operand);
        break;
      case BPF_JMP:
        if (BPF_OP(one.code) == BPF_JA) {
          at += one.k;
        } else {
          at += filter.compare(BPF_OP(one.code), operand) ? one.jt : one.jf;
        }
        break;
      case BPF_RET:
        return BPF_RVAL(one.code) == BPF_A ? filter.a : one.k;
      case BPF_MISC:
        if (BPF_MISCOP(one.code) == BPF_TAX) filter.x = filter.a;
        if (BPF_MISCOP(one.code) == BPF_TXA) filter.a = filter.x;
        break;
      default:
        break;
    }
  }
  return SECCOMP_RET_ALLOW;  // not reached: the kernel rejects a filter without a return
}

bool is_harmless(uint32_t answer) {
  const uint32_t action = answer & SECCOMP_RET_ACTION_FULL;
  return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG || action == SECCOMP_RET_ERRNO;
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
    if (!is_harmless(answer(filter, number))) return true;
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

// Also called by the single thread of a child that shares its parent's memory: that must not end
// the parent's recording.
static void before_prctl(int option, unsigned long mode, unsigned long argument) {
  if (option != PR_SET_TSC && option != PR_SET_SECCOMP) return;
  if (g_state.control == nullptr || load(g_state.silent) != 0) return;
  if (static_cast<uint32_t>(getpid()) != g_state.pid && !is_new_child()) return;
  const sonde::ErrnoKeeper keep;
  if (option == PR_SET_TSC && mode == PR_TSC_SIGSEGV) {
    fall_silent("recording ends here: the program disables reading the time stamp counter");
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
