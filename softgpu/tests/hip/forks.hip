// forks before|after: a child of fork() uses the GPU, started before or after its parent did.
// After, it must exec a program, since the runtime in its memory belongs to its parent.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

bool gpu_copies(const char* who) {
  std::vector<char> from(100'000, 'x'), to(100'000);
  char* device = nullptr;
  const bool good = hipMalloc(reinterpret_cast<void**>(&device), from.size()) == hipSuccess &&
                    hipMemcpy(device, from.data(), from.size(), hipMemcpyHostToDevice) == hipSuccess &&
                    hipMemcpy(to.data(), device, to.size(), hipMemcpyDeviceToHost) == hipSuccess &&
                    hipFree(device) == hipSuccess && from == to;
  std::printf("%s %s\n", who, good ? "works" : "FAILED");
  std::fflush(stdout);
  return good;
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int, char** argv) {
  const std::string how = argv[1];
  if (how == "again") return gpu_copies("executed child") ? 0 : 1;
  if (how == "after" && !gpu_copies("parent")) return 1;
  const pid_t child = fork();
  if (child == 0) {
    if (how == "after") execl("/proc/self/exe", argv[0], "again", nullptr);
    _exit(gpu_copies("child") ? 0 : 1);
  }
  int status = 0;
  if (how == "before") status = gpu_copies("parent meanwhile") ? 0 : 1;
  status |= wait_for(child);
  return gpu_copies("parent later") && status == 0 ? 0 : 1;
}
