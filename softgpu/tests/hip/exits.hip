// exits HOW: exits while the GPU is busy and nothing was cleaned up. None of the ways may hang.
#include <hip/hip_runtime.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

__global__ void spin(int* out) { out[threadIdx.x] = 1; }

// Waits for the host, and then runs instructions that nothing has run before.
__global__ void divide(int* out, const volatile int* by) {
  while (*by == 0) {
  }
  out[threadIdx.x] = static_cast<int>(threadIdx.x * 3) / *by;
}

// An object with static storage duration that uses the GPU in its destructor, as many libraries
// have.
struct Late {
  int* memory = nullptr;
  volatile int* by = nullptr;
  ~Late() {
    if (memory == nullptr) return;
    *by = 3;
    int last = 0;
    const auto copied = hipMemcpy(&last, memory + 63, sizeof(last), hipMemcpyDeviceToHost);
    if (copied == hipSuccess && last == 63) std::puts("ran late");
    if (hipFree(memory) == hipSuccess) std::puts("freed late");
  }
} late;

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "return";
  int* by = nullptr;
  if (hipMalloc(&late.memory, 1 << 20) != hipSuccess) return 9;
  if (hipHostMalloc(reinterpret_cast<void**>(&by), sizeof(int)) != hipSuccess) return 9;
  *by = 0;
  late.by = by;
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 9;
  for (int i = 0; i < 3'000; ++i) spin<<<1024, 64, 0, stream>>>(late.memory);
  divide<<<1, 64, 0, stream>>>(late.memory, late.by);
  // A thread waits inside the runtime when the program exits. It must have entered it before: a
  // call into a runtime that is gone is the program's fault.
  std::atomic<bool> waits = false;
  std::thread([stream, &waits] {
    waits = true;
    (void)hipStreamSynchronize(stream);
  }).detach();
  while (!waits) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::puts("leaving");
  std::fflush(stdout);
  if (how == "exit") std::exit(0);
  if (how == "thread") std::thread([] { std::exit(0); }).join();
  if (how == "quick") _exit(0);
  if (how == "abort") abort();
  return 0;
}
