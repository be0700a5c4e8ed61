// Work for the GPU from functions of the host with kernels of their own, so that the time of each
// function is that of its kernels. Prints how many launches and copies there were.
//   hip_split N [fork]   N rounds in the main thread and in another one; fork: in a child too
#include <errno.h>
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#define KEEP __attribute__((noinline))

__global__ void many(int* data) { data[threadIdx.x] += 1; }
__global__ void some(int* data) { data[threadIdx.x] += 2; }
__global__ void few(int* data) { data[threadIdx.x] += 3; }

namespace {

int surprises;

// errno is as it was behind every call.
void expect(hipError_t error) { surprises += error != hipSuccess; }

}  // namespace

KEEP void launches_many(int* data, hipStream_t stream) {
  for (int i = 0; i < 6; ++i) many<<<64, 64, 0, stream>>>(data);
}
KEEP void launches_some(int* data, hipStream_t stream) {
  for (int i = 0; i < 3; ++i) some<<<64, 64, 0, stream>>>(data);
}
KEEP void launches_few(int* data, hipStream_t stream) { few<<<64, 64, 0, stream>>>(data); }

KEEP void copies(int* data, int* host, hipStream_t stream) {
  expect(hipMemcpyAsync(data, host, 4096, hipMemcpyHostToDevice, stream));
}

KEEP void works(int rounds) {
  int* data = nullptr;
  int* host = nullptr;
  hipStream_t stream;
  expect(hipMalloc(&data, 4096));
  expect(hipHostMalloc(&host, 4096));
  expect(hipStreamCreate(&stream));
  for (int i = 0; i < rounds; ++i) {
    errno = 77;
    launches_many(data, stream);
    launches_some(data, stream);
    launches_few(data, stream);
    surprises += errno != 77;
    copies(data, host, stream);
  }
  expect(hipStreamSynchronize(stream));
  expect(hipFree(data));
  expect(hipHostFree(host));
  expect(hipStreamDestroy(stream));
}

int main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 10;
  const bool forks = count > 2 && strcmp(arguments[2], "fork") == 0;
  int processes = 1;
  if (forks) {  // HIP cannot be used on both sides of a fork, so the child begins
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      works(rounds);
      fflush(stdout);
      _exit(surprises);
    }
    int status = 0;
    waitpid(child, &status, 0);
    surprises += status != 0;
    processes = 2;
  }
  std::thread other(works, rounds);
  works(rounds);
  other.join();
  const int times = rounds * (2 * 1 + (processes - 1));
  printf("{\"launches\": %d, \"copies\": %d, \"surprises\": %d}\n", times * 10, times, surprises);
  return surprises != 0;
}
