// busy SECONDS: launches kernels all the time. With "idle" as second word it rests instead, and says
// how much CPU that cost and how much longer a launch took that woke the device up.
#include <hip/hip_runtime.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

__global__ void touch(int* out) { out[threadIdx.x] = 1; }

constexpr int kRests = 25;  // the best of them: the machine may be busy otherwise

// A launch may take this much longer after a rest; where launches without one are slow, because
// others use the machine, more.
constexpr double kLateUs = 200, kBusyMachine = 2;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Until the kernel has run.
double launch_us(int* memory) {
  const double begin = seconds(CLOCK_MONOTONIC);
  touch<<<1, 64>>>(memory);
  (void)hipDeviceSynchronize();
  return (seconds(CLOCK_MONOTONIC) - begin) * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const double duration = argc > 1 ? std::atof(argv[1]) : 1;
  int* memory = nullptr;
  if (hipMalloc(&memory, 1 << 20) != hipSuccess) return 1;
  touch<<<1, 64>>>(memory);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  std::puts("started");
  std::fflush(stdout);
  if (argc > 2) {
    double best_us = 1e9, rested_us = 1e9;
    for (int i = 0; i < kRests; ++i) best_us = std::min(best_us, launch_us(memory));
    const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < kRests; ++i) {
      std::this_thread::sleep_for(std::chrono::duration<double>(duration / kRests));
      rested_us = std::min(rested_us, launch_us(memory));
    }
    const double share = (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / duration;
    std::printf("{\"cpu_percent\": %.2f, \"launch_us\": %.0f, \"wake_us\": %.0f, \"late\": %d}\n",
                share * 100, best_us, rested_us - best_us,
                rested_us - best_us > kLateUs + kBusyMachine * best_us);
    return 0;
  }
  const double end = seconds(CLOCK_MONOTONIC) + duration;
  while (seconds(CLOCK_MONOTONIC) < end) {
    for (int i = 0; i < 10; ++i) touch<<<1, 64>>>(memory);
    (void)hipDeviceSynchronize();
  }
  return 0;
}
