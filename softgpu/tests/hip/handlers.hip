// Sets the action of SIGSEGV to the default for moments, as LLVM does while it loads code, and asks
// the kernel whether a handler is there for the faults of kernels all the same.
#include <hip/hip_runtime.h>
#include <signal.h>

#include <cstdio>
#include <cstring>

namespace {

__global__ void set(int* out) { out[threadIdx.x] = 1; }

bool is_caught() {
  unsigned long long caught = 0;
  char line[256];
  FILE* status = std::fopen("/proc/self/status", "r");
  while (std::fgets(line, sizeof(line), status) != nullptr)
    std::sscanf(line, "SigCgt: %llx", &caught);
  std::fclose(status);
  return (caught >> (SIGSEGV - 1) & 1) != 0;
}

}  // namespace

int main() {
  int* memory = nullptr;
  if (hipMalloc(&memory, 4096) != hipSuccess) return 1;
  set<<<1, 64>>>(memory);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  struct sigaction none;
  struct sigaction before;
  std::memset(&none, 0, sizeof(none));
  sigaction(SIGSEGV, &none, &before);
  std::printf("while the action is the default: %s\n", is_caught() ? "caught" : "not caught");
  const bool was_default = signal(SIGSEGV, SIG_IGN) == SIG_DFL;
  std::printf("while it is ignored: %s\n", is_caught() ? "caught" : "not caught");
  sigaction(SIGSEGV, &before, &none);
  const bool was_ignored = none.sa_handler == SIG_IGN;
  std::printf("the program is told what it set: %s\n", was_default && was_ignored ? "yes" : "no");
  return 0;
}
