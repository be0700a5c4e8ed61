// Many launches, in ways that a tracer could drown in. Prints how many kernels there were, and what
// one of them took: this thread's CPU time and the clock's; of bursts, loop and cheap also the CPU
// time in the best burst, in which nothing came between (no other program, no fresh page), and in
// the median one. Last the CPU time of the whole process.
//   hip_storm rate N      N launches without a sync
//   hip_storm bursts N    likewise, but 500 at a time: only the launches are timed, not the sync
//   hip_storm sync N      N launches, each with a sync
//   hip_storm loop N      N launches as a program makes them: 20 after a copy, then a sync
//   hip_storm behind N    N launches queued behind a host function that waits for the last of them
//   hip_storm forever     until it is killed; prints how many have finished
//   hip_storm cheap N     N calls that do next to nothing
//   hip_storm paused N    N launches, recording paused by ROCTX, with a sync after each 20
//   hip_storm profiled N  N launches that hipProfilerStart() and hipProfilerStop() enclose, as many after it
//   hip_storm events N    N events recorded and waited for by another stream, without kernels
//   hip_storm load N      N launches and N / 4 calls of ten other kinds over 60 seconds
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "../programs/cpu_clock.h"
#include "check_call.h"

__global__ void nothing() {}
__global__ void touch(int* data, int value) { data[threadIdx.x] = value; }

namespace {

std::atomic<bool> released;
hipStream_t stream;

double now_ns(clockid_t clock) { return static_cast<double>(clock_ns(clock)); }

struct Times {
  double cpu_ns = 0, wall_ns = 0;
  double best_ns = 0, median_ns = 0;  // CPU time of one launch or call in these bursts
};

template <typename Work>
Times timed(Work work) {
  const double cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID), wall_ns = now_ns(CLOCK_MONOTONIC);
  work();
  return {now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns, now_ns(CLOCK_MONOTONIC) - wall_ns};
}

void launch(int count) {
  for (int i = 0; i < count; ++i) nothing<<<1, 64, 0, stream>>>();
}

// `work` makes so many launches or calls; then comes a sync, which is not timed.
template <typename Work>
Times bursts(int count, int at_once, Work work) {
  Times sum;
  std::vector<double> each_ns;
  for (int done = 0; done < count; done += at_once) {
    const Times one = timed([=] { work(at_once); });
    sum.cpu_ns += one.cpu_ns;
    sum.wall_ns += one.wall_ns;
    each_ns.push_back(one.cpu_ns / at_once);
    CHECK(hipStreamSynchronize(stream));
  }
  std::sort(each_ns.begin(), each_ns.end());
  sum.best_ns = each_ns.front();
  sum.median_ns = each_ns[each_ns.size() / 2];
  return sum;
}

void cheap(int count) {
  int device;
  for (int i = 0; i < count; ++i) (void)hipGetDevice(&device);
}

Times loop(int count) {
  constexpr int kLaunches = 20, kBytes = 4096;
  void *host, *device;
  CHECK(hipHostMalloc(&host, kBytes, 0));
  CHECK(hipMalloc(&device, kBytes));
  return bursts(count, kLaunches, [=](int launches) {
    CHECK(hipMemcpyAsync(device, host, kBytes, hipMemcpyHostToDevice, stream));
    for (int i = 0; i < launches; ++i) touch<<<16, 64, 0, stream>>>(static_cast<int*>(device), i);
    CHECK(hipStreamSynchronize(stream));
  });
}

void behind(int count) {
  const auto wait = [](hipStream_t, hipError_t, void*) {
    while (!released.load()) usleep(1000);
  };
  CHECK(hipStreamAddCallback(stream, wait, nullptr, 0));
  launch(count);
  released.store(true);
}

void forever() {
  for (int done = 1;; done += 20) {
    printf("%d\n", done);
    fflush(stdout);
    launch(20);
    CHECK(hipStreamSynchronize(stream));
  }
}

void roctx(const char* function) {
  const auto call = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, function));
  if (call != nullptr) call(0);
}

void paused(int count) {
  roctx("roctxProfilerPause");
  for (int done = 0; done < count; done += 20) {
    launch(20);
    CHECK(hipStreamSynchronize(stream));
  }
  roctx("roctxProfilerResume");
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"  // programs call them all the same
void profiled(int count) {
  (void)hipProfilerStart();
  launch(count);
  CHECK(hipStreamSynchronize(stream));
  (void)hipProfilerStop();
  launch(count);
  CHECK(hipStreamSynchronize(stream));
}
#pragma clang diagnostic pop

void events(int count) {
  hipStream_t other;
  hipEvent_t event;
  CHECK(hipStreamCreate(&other));
  CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  for (int i = 0; i < count; ++i) {
    CHECK(hipEventRecord(event, stream));
    CHECK(hipStreamWaitEvent(other, event, 0));
  }
  CHECK(hipStreamSynchronize(other));
}

// Ten calls that are no launches.
void other_calls(void* host, void* device, int bytes, hipEvent_t event) {
  int number;
  void* memory;
  CHECK(hipGetDevice(&number));
  CHECK(hipSetDevice(number));
  CHECK(hipMalloc(&memory, 1 << 16));
  CHECK(hipMemcpyAsync(device, host, bytes, hipMemcpyHostToDevice, stream));
  CHECK(hipEventRecord(event, stream));
  CHECK(hipStreamWaitEvent(stream, event, 0));
  (void)hipStreamQuery(stream);
  CHECK(hipMemcpyAsync(host, device, bytes, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipFree(memory));
}

int load(int count) {
  constexpr int kSeconds = 60, kRounds = kSeconds * 50, kBytes = 4096;
  void *host, *device;
  hipEvent_t event;
  CHECK(hipHostMalloc(&host, kBytes, 0));
  CHECK(hipMalloc(&device, kBytes));
  CHECK(hipEventCreate(&event));
  const double begin_ns = now_ns(CLOCK_MONOTONIC);
  int launched = 0, others = 0;
  for (int round = 1; round <= kRounds; ++round) {
    for (; launched < double(count) * round / kRounds; ++launched) nothing<<<1, 64, 0, stream>>>();
    for (; others < double(count) / 4 * round / kRounds; others += 10) {
      other_calls(host, device, kBytes, event);
    }
    const double early_ns = begin_ns + round * (kSeconds * 1e9 / kRounds) - now_ns(CLOCK_MONOTONIC);
    if (early_ns > 0) usleep(static_cast<useconds_t>(early_ns / 1000));
  }
  return others;
}

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "rate";
  const int count = argc > 2 ? atoi(argv[2]) : 1000;
  CHECK(hipStreamCreate(&stream));
  launch(1);
  CHECK(hipStreamSynchronize(stream));
  int done = 1 + count, others = 0;
  Times times;
  if (strcmp(mode, "behind") == 0) {
    times = timed([=] { behind(count); });
  } else if (strcmp(mode, "forever") == 0) {
    forever();
  } else if (strcmp(mode, "cheap") == 0) {
    done = 1;
    times = bursts(count, 2000, cheap);
  } else if (strcmp(mode, "bursts") == 0) {
    times = bursts(count, 500, launch);
  } else if (strcmp(mode, "sync") == 0) {
    times = timed([=] {
      for (int i = 0; i < count; ++i) {
        launch(1);
        CHECK(hipStreamSynchronize(stream));
      }
    });
  } else if (strcmp(mode, "loop") == 0) {
    times = loop(count);
  } else if (strcmp(mode, "profiled") == 0) {
    times = timed([=] { profiled(count); });
  } else if (strcmp(mode, "paused") == 0) {
    done = 1;
    times = timed([=] { paused(count); });
  } else if (strcmp(mode, "events") == 0) {
    done = 1;
    times = timed([=] { events(count); });
  } else if (strcmp(mode, "load") == 0) {
    times = timed([&] { others = load(count); });
  } else {
    times = timed([=] { launch(count); });
  }
  CHECK(hipStreamSynchronize(stream));
  printf(
      "{\"kernels\": %d, \"others\": %d, \"each_ns\": %.1f, \"wall_ns\": %.1f, "
      "\"best_ns\": %.1f, \"median_ns\": %.1f}\n",
      done, others, times.cpu_ns / count, times.wall_ns / count, times.best_ns, times.median_ns);
}
