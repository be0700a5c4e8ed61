// deny WHAT... -- COMMAND: runs COMMAND without a permission, as a container's seccomp profile or
// an unprivileged user would: perf (perf_event_open), ptrace (ptrace, process_vm_readv and
// process_vm_writev), pidfd (pidfd_open). "nobody" makes it run as that user.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kNobody = 65534, kMost = 64 };

static struct sock_filter code[kMost];
static unsigned short length;

static void add(unsigned short op, unsigned value, unsigned char yes, unsigned char no) {
  const struct sock_filter one = {op, yes, no, value};
  code[length++] = one;
}

// EPERM for this call.
static void deny(long call) {
  add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
  add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
}

int main(int argc, char** argv) {
  int i = 1, user = 0;
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  for (; i < argc && strcmp(argv[i], "--") != 0; ++i) {
    if (strcmp(argv[i], "perf") == 0) deny(SYS_perf_event_open);
    if (strcmp(argv[i], "pidfd") == 0) deny(SYS_pidfd_open);
    if (strcmp(argv[i], "ptrace") == 0) {
      deny(SYS_ptrace);
      deny(SYS_process_vm_readv);
      deny(SYS_process_vm_writev);
    }
    if (strcmp(argv[i], "nobody") == 0) user = kNobody;
  }
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  const struct sock_fprog program = {length, code};
  if (i + 1 >= argc) return 2;
  if (user != 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
    perror("deny: nobody");
    return 1;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("deny: seccomp");
    return 1;
  }
  execvp(argv[i + 1], argv + i + 1);
  perror("deny");
  return 127;
}
