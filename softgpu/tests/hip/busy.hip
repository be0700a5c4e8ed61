// busy SECONDS: launches kernels continuously. With "idle" as the second argument it sleeps
// instead, and prints the CPU time that this costs, how long a launch with a sync takes before and
// after a sleep, when the latter launches were made, and how long it takes after such a sleep to
// wake a thread and be woken by it.
#include <hip/hip_runtime.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

__global__ void touch(int* out) { out[threadIdx.x] = 1; }

constexpr int kRests = 25;  // the best of them counts: the machine may be busy otherwise

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Returns after the kernel has run; begin_s: the time of the launch.
double launch_us(int* memory, double* begin_s) {
  const double begin = *begin_s = seconds(CLOCK_MONOTONIC);
  touch<<<1, 64>>>(memory);
  (void)hipDeviceSynchronize();
  return (seconds(CLOCK_MONOTONIC) - begin) * 1e6;
}

// The minimum that the system needs for a launch after a sleep: a sleeping thread is woken, and
// wakes the first one, which sleeps by then.
class Echo {
 public:
  Echo()
      : thread_([this] {
          uint64_t word = 0;
          while (read(there_, &word, sizeof word) > 0 && word == 1) write_one(back_);
        }) {}
  ~Echo() {
    const uint64_t end = 2;
    if (write(there_, &end, sizeof end) > 0) thread_.join();
  }
  double both_ways_us() {
    const double begin = seconds(CLOCK_MONOTONIC);
    uint64_t word = 0;
    write_one(there_);
    (void)!read(back_, &word, sizeof word);
    return (seconds(CLOCK_MONOTONIC) - begin) * 1e6;
  }

 private:
  static void write_one(int fd) {
    const uint64_t one = 1;
    (void)!write(fd, &one, sizeof one);
  }
  int there_ = eventfd(0, 0), back_ = eventfd(0, 0);
  std::thread thread_;
};

void rest(double duration, int* memory) {
  double cpu = 0;  // of the process while it sleeps
  const auto pause = [&] {
    const double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
    std::this_thread::sleep_for(std::chrono::duration<double>(duration / kRests));
    cpu += seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
  };
  double best_us = 1e9, rested_us = 1e9, echo_us = 1e9, began = 0;
  std::string times;
  for (int i = 0; i < kRests; ++i) best_us = std::min(best_us, launch_us(memory, &began));
  for (int i = 0; i < kRests; ++i) {
    pause();
    rested_us = std::min(rested_us, launch_us(memory, &began));
    times += (i != 0 ? ", " : "") + std::to_string(static_cast<int64_t>(began * 1e9));
  }
  const double share = cpu / duration;
  Echo echo;
  for (int i = 0; i < kRests; ++i) {
    pause();
    echo_us = std::min(echo_us, echo.both_ways_us());
  }
  std::printf(
      "{\"cpu_percent\": %.2f, \"launch_us\": %.0f, \"rested_launch_us\": %.0f, "
      "\"echo_us\": %.0f, \"launched_ns\": [%s]}\n",
      share * 100, best_us, rested_us, echo_us, times.c_str());
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
    rest(duration, memory);
    return 0;
  }
  const double end = seconds(CLOCK_MONOTONIC) + duration;
  while (seconds(CLOCK_MONOTONIC) < end) {
    for (int i = 0; i < 10; ++i) touch<<<1, 64>>>(memory);
    (void)hipDeviceSynchronize();
  }
  return 0;
}
