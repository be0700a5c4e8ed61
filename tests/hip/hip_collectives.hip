// Ranks that compute and meet in collectives, a thread and a GPU each, as a training job does:
// kernels, an all-gather whose result is looked at, more kernels, an all-reduce; now and then one
// comes late. Linked with the stand-in of RCCL, tests/fakes/ring_rccl.hip. Prints what it did.
//   hip_collectives RANKS SECONDS [AWAY]
// The rank AWAY does not come to the all-reduce of the fourth round.
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "../programs/cpu_clock.h"

struct Communicator;
extern "C" {
int ncclCommInitAll(Communicator** comms, int ranks, const int* devices);
int ncclAllGather(const void*, void*, size_t, int, Communicator*, hipStream_t);
int ncclAllReduce(const void*, void*, size_t, int, int, Communicator*, hipStream_t);
}

#define MUST(call)                                                        \
  if (const int error = static_cast<int>(call)) {                         \
    fprintf(stderr, "line %d: error %d of %s\n", __LINE__, error, #call); \
    exit(1);                                                              \
  }

namespace {

__global__ void forward(uint8_t* data) { data[threadIdx.x] += 1; }
__global__ void backward(uint8_t* data) { data[threadIdx.x] += 2; }

constexpr size_t kBytes = 32 << 10;
constexpr int kUint8 = 1, kSum = 0, kKernels = 3;

std::atomic<long> wrong, rounds;
std::atomic<long> last_round{1L << 60};

double now_s() { return static_cast<double>(clock_ns(CLOCK_MONOTONIC)) * 1e-9; }

uint8_t value_of(int rank, long round) { return static_cast<uint8_t>(rank * 31 + round); }

__attribute__((noinline)) void stay_away() {
  for (;;) pause();
}

void run(int rank, int ranks, Communicator* comm, double until_s, int away) {
  MUST(hipSetDevice(rank));
  hipStream_t stream;
  uint8_t *own, *all, *host, *work;
  const size_t all_bytes = kBytes * static_cast<size_t>(ranks);
  MUST(hipStreamCreate(&stream));
  MUST(hipMalloc(&own, kBytes));
  MUST(hipMalloc(&work, kBytes));
  MUST(hipMalloc(&all, all_bytes));
  MUST(hipHostMalloc(&host, all_bytes));
  long round = 0;
  for (; round < last_round; ++round) {
    for (int i = 0; i < kKernels; ++i) forward<<<4, 64, 0, stream>>>(work);
    MUST(hipMemsetAsync(own, value_of(rank, round), kBytes, stream));
    if (round % 50 == rank) usleep(2000);
    MUST(ncclAllGather(own, all, kBytes, kUint8, comm, stream));
    for (int i = 0; i < kKernels; ++i) backward<<<4, 64, 0, stream>>>(work);
    if (rank == away && round == 3) stay_away();
    MUST(ncclAllReduce(work, work, kBytes, kUint8, kSum, comm, stream));
    if (round % 10 == 9) {
      MUST(hipMemcpyAsync(host, all, all_bytes, hipMemcpyDeviceToHost, stream));
      MUST(hipStreamSynchronize(stream));
      for (int i = 0; i < ranks; ++i) {
        const uint8_t* part = host + kBytes * static_cast<size_t>(i);
        if (part[0] != value_of(i, round) || part[kBytes - 1] != value_of(i, round)) ++wrong;
      }
    }
    // The others are at most one round away.
    if (rank == 0 && last_round > round + 2 && now_s() > until_s) last_round = round + 2;
  }
  MUST(hipStreamSynchronize(stream));
  if (rank == 0) rounds = round;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? atoi(argv[1]) : 2;
  std::vector<int> devices;
  for (int i = 0; i < ranks; ++i) {
    devices.push_back(i);
    MUST(hipSetDevice(i));
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != i) (void)hipDeviceEnablePeerAccess(peer, 0);
    }
  }
  std::vector<Communicator*> comms(static_cast<size_t>(ranks));
  MUST(ncclCommInitAll(comms.data(), ranks, devices.data()));
  const double until_s = now_s() + (argc > 2 ? atof(argv[2]) : 1);  // without the start of the GPUs
  const int away = argc > 3 ? atoi(argv[3]) : -1;
  std::vector<std::thread> threads;
  for (int i = 0; i < ranks; ++i) {
    threads.emplace_back(run, i, ranks, comms[static_cast<size_t>(i)], until_s, away);
  }
  for (std::thread& thread : threads) thread.join();
  printf("{\"rounds\": %ld, \"collectives\": %ld, \"kernels\": %ld, \"wrong\": %ld}\n",
         rounds.load(), rounds * ranks * 2, rounds * ranks * 2 * kKernels, wrong.load());
  return wrong != 0;
}
