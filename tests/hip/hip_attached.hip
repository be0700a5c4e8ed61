// A HIP program that is attached to while it runs. Two threads, each with a stream of its own from
// the start, and a third that makes new streams: each adds to numbers on the GPU, copies them back
// and compares; a fourth has HIP call a function behind each kernel. A kernel's first argument is the
// number of the launch. At the end of its standard input it prints "1 interrupted=0 wrong=N".
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

__global__ void add(int number, int* data) { data[threadIdx.x] += number; }

namespace {

constexpr int kItems = 64;
std::atomic<bool> ended;
std::atomic<unsigned> wrong;
std::atomic<int> at_work;  // threads whose first steps, in which HIP loads and compiles, are over

void check(hipError_t error) {
  if (error != hipSuccess) ++wrong;
}

void step(int number, int* device, int* sum, hipStream_t stream) {
  int host[kItems];
  add<<<1, kItems, 0, stream>>>(number, device);
  check(hipGetLastError());
  check(hipMemcpyAsync(host, device, sizeof host, hipMemcpyDeviceToHost, stream));
  check(hipStreamSynchronize(stream));
  *sum = static_cast<int>(static_cast<unsigned>(*sum) + static_cast<unsigned>(number));
  for (const int value : host) wrong += value != *sum ? 1 : 0;
}

void work(bool new_streams) {
  int* device = nullptr;
  int sum = 0;
  hipStream_t stream = nullptr;
  check(hipMalloc(reinterpret_cast<void**>(&device), kItems * sizeof(int)));
  check(hipMemset(device, 0, kItems * sizeof(int)));
  check(hipStreamCreate(&stream));
  for (int number = 1; !ended; ++number) {
    step(number, device, &sum, stream);
    if (new_streams && number % 10 == 0) {
      check(hipStreamDestroy(stream));
      check(hipStreamCreate(&stream));
    }
    if (number == 20) ++at_work;
    usleep(500);
  }
  check(hipStreamDestroy(stream));
  check(hipFree(device));
}

void count(hipStream_t, hipError_t, void* calls) { ++*static_cast<std::atomic<int>*>(calls); }

// HIP holds the stream's next work back until the function has been called.
void call_back() {
  std::atomic<int> calls = 0;
  int* device = nullptr;
  hipStream_t stream = nullptr;
  check(hipMalloc(reinterpret_cast<void**>(&device), kItems * sizeof(int)));
  check(hipStreamCreate(&stream));
  for (int number = 1; !ended; ++number) {
    add<<<1, kItems, 0, stream>>>(number, device);
    check(hipStreamAddCallback(stream, count, &calls, 0));
    add<<<1, kItems, 0, stream>>>(number, device);
    check(hipStreamSynchronize(stream));
    wrong += calls != number ? 1 : 0;
    if (number == 20) ++at_work;
    usleep(500);
  }
  check(hipStreamDestroy(stream));
  check(hipFree(device));
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  check(hipSetDevice(0));
  for (int i = 0; i < 3; ++i) threads.emplace_back(work, i == 2);
  threads.emplace_back(call_back);
  while (at_work < 4) usleep(1000);
  puts("ready");
  fflush(stdout);
  char word;
  while (read(0, &word, 1) > 0) {
  }
  ended = true;
  for (std::thread& thread : threads) thread.join();
  printf("1 interrupted=0 wrong=%u\n", wrong.load());
  return 0;
}
