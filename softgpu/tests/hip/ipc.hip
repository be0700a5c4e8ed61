// ipc: memory and events of one process that another one opens. The parent allocates and fills; the
// child opens the parent's handle, checks, writes with a runtime kernel (hipMemset) and with a
// copy; the parent checks. Then the parent frees the memory while the child still has it open.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr size_t kBytes = 3 << 20;

void must(bool good, const char* what) {
  if (good) return;
  std::printf("FAILED: %s\n", what);
  std::fflush(stdout);
  _exit(1);
}
void check(hipError_t error, const char* what) {
  if (error != hipSuccess) std::printf("%s: ", hipGetErrorString(error));
  must(error == hipSuccess, what);
}

void wait_for(int fd) {
  char byte = 0;
  must(read(fd, &byte, 1) == 1, "the other process answers");
}
void tell(int fd) { must(write(fd, "x", 1) == 1, "telling the other process"); }

int child(int in, int out) {
  hipIpcMemHandle_t handle;
  must(read(in, &handle, sizeof handle) == sizeof handle, "reading the handle");
  char* theirs = nullptr;
  check(hipIpcOpenMemHandle(reinterpret_cast<void**>(&theirs), handle,
                            hipIpcMemLazyEnablePeerAccess),
        "open");
  std::vector<char> seen(kBytes);
  check(hipMemcpy(seen.data(), theirs, kBytes, hipMemcpyDeviceToHost), "read");
  for (size_t i = 0; i < kBytes; ++i) must(seen[i] == static_cast<char>(i * 7), "content");
  check(hipMemset(theirs, 0x5a, kBytes / 2), "memset");
  const std::vector<char> tail(kBytes / 2, 0x33);
  check(hipMemcpy(theirs + kBytes / 2, tail.data(), tail.size(), hipMemcpyHostToDevice), "write");
  check(hipDeviceSynchronize(), "sync");
  tell(out);
  wait_for(in);  // the parent has freed it
  check(hipMemcpy(seen.data(), theirs, kBytes, hipMemcpyDeviceToHost), "read what was freed");
  must(seen[0] == 0x5a && seen[kBytes - 1] == 0x33, "content that was freed");
  check(hipIpcCloseMemHandle(theirs), "close");
  tell(out);
  return 0;
}

int parent(int in, int out) {
  std::vector<char> bytes(kBytes);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<char>(i * 7);
  char* device = nullptr;
  check(hipMalloc(reinterpret_cast<void**>(&device), kBytes), "malloc");
  check(hipMemcpy(device, bytes.data(), kBytes, hipMemcpyHostToDevice), "fill");
  hipIpcMemHandle_t handle;
  check(hipIpcGetMemHandle(&handle, device), "get handle");
  must(write(out, &handle, sizeof handle) == sizeof handle, "sending the handle");
  wait_for(in);
  check(hipMemcpy(bytes.data(), device, kBytes, hipMemcpyDeviceToHost), "look");
  for (size_t i = 0; i < kBytes; ++i) {
    must(bytes[i] == (i < kBytes / 2 ? 0x5a : 0x33), "what the child wrote");
  }
  check(hipFree(device), "free");
  tell(out);
  wait_for(in);
  return 0;
}

}  // namespace

int main() {
  int down[2], up[2];
  must(pipe(down) == 0 && pipe(up) == 0, "pipes");
  const pid_t other = fork();
  if (other == 0) return child(down[0], up[1]);
  const int result = parent(up[0], down[1]);
  int status = 0;
  waitpid(other, &status, 0);
  std::printf("%s\n", result == 0 && status == 0 ? "both processes agree" : "FAILED");
  return result == 0 && status == 0 ? 0 : 1;
}
