// Many launches, in ways that a tracer could drown in. Prints how many kernels there were, and this
// thread's CPU time for each of them.
//   hip_storm rate N      N launches without a sync
//   hip_storm behind N    N launches queued behind a host function that waits for the last of them
//   hip_storm forever     until it is killed; prints how many have finished
//   hip_storm cheap N     N calls that do next to nothing
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

__global__ void nothing() {}
static std::atomic<bool> released;

static double cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "rate";
  const int count = argc > 2 ? atoi(argv[2]) : 1000;
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 1;
  nothing<<<1, 64, 0, stream>>>();
  if (hipStreamSynchronize(stream) != hipSuccess) return 1;
  int done = 1;
  const double before_ns = cpu_ns();
  if (strcmp(mode, "behind") == 0) {
    const auto wait = [](hipStream_t, hipError_t, void*) {
      while (!released.load()) usleep(1000);
    };
    if (hipStreamAddCallback(stream, wait, nullptr, 0) != hipSuccess) return 1;
    for (int i = 0; i < count; ++i) nothing<<<1, 64, 0, stream>>>();
    released.store(true);
    done += count;
  } else if (strcmp(mode, "forever") == 0) {
    for (;;) {
      for (int i = 0; i < 20; ++i) nothing<<<1, 64, 0, stream>>>();
      if (hipStreamSynchronize(stream) != hipSuccess) return 1;
      done += 20;
      printf("%d\n", done);
      fflush(stdout);
    }
  } else if (strcmp(mode, "cheap") == 0) {
    int device;
    for (int i = 0; i < count; ++i) (void)hipGetDevice(&device);
  } else {
    for (int i = 0; i < count; ++i) nothing<<<1, 64, 0, stream>>>();
    done += count;
  }
  const double each_ns = (cpu_ns() - before_ns) / count;
  if (hipStreamSynchronize(stream) != hipSuccess) return 1;
  printf("{\"kernels\": %d, \"each_ns\": %.1f}\n", done, each_ns);
}
