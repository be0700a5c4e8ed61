// A rank of a job whose ranks are processes: rounds of a kernel, an all-gather and an all-reduce,
// as with mpirun. Linked with the stand-in of RCCL, tests/fakes/ring_rccl.hip.
//   hip_ranks RANK RANKS FILE [HOW [AWAY]]
// Rank 0 writes the communicator's id into FILE, for which the others wait. Where HOW is "away",
// rank AWAY does not come to the all-reduce of the third round; "exits": it ends instead; "joins":
// it does not make the communicator. Else it prints what it found to be wrong. Ends after 5 minutes.
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

struct Communicator;
struct UniqueId {
  char bytes[128];
};
extern "C" {
int ncclGetUniqueId(UniqueId*);
int ncclCommInitRank(Communicator**, int, UniqueId, int);
int ncclAllGather(const void*, void*, size_t, int, Communicator*, hipStream_t);
int ncclAllReduce(const void*, void*, size_t, int, int, Communicator*, hipStream_t);
}

#define MUST(call)                                                        \
  if (const int error = static_cast<int>(call)) {                         \
    fprintf(stderr, "line %d: error %d of %s\n", __LINE__, error, #call); \
    exit(1);                                                              \
  }

namespace {

constexpr size_t kBytes = 1024;
constexpr int kUint8 = 1, kSum = 0, kRounds = 5;

__global__ void write(uint8_t* data, uint8_t value) {
  for (size_t i = threadIdx.x; i < kBytes; i += blockDim.x) data[i] = value;
}

UniqueId exchange_id(int rank, const std::string& path) {
  UniqueId id = {};
  if (rank == 0) {
    MUST(ncclGetUniqueId(&id));
    FILE* file = fopen((path + ".new").c_str(), "wb");
    if (file == nullptr || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) != 0) exit(1);
    MUST(rename((path + ".new").c_str(), path.c_str()));
    return id;
  }
  FILE* file = nullptr;
  while ((file = fopen(path.c_str(), "rb")) == nullptr) usleep(10000);
  if (fread(&id, sizeof id, 1, file) != 1) exit(1);
  fclose(file);
  return id;
}

__attribute__((noinline)) void stay_away() {
  for (;;) pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  alarm(300);
  const int rank = atoi(argv[1]), ranks = atoi(argv[2]);
  const std::string how = argc > 4 ? argv[4] : "";
  const bool is_one = argc > 5 && atoi(argv[5]) == rank;
  int gpus = 0;
  MUST(hipGetDeviceCount(&gpus));
  MUST(hipSetDevice(rank % gpus));
  uint8_t *own, *all;
  MUST(hipMalloc(&own, kBytes));
  MUST(hipMalloc(&all, kBytes * static_cast<size_t>(ranks)));
  const UniqueId id = exchange_id(rank, argv[3]);
  if (is_one && how == "joins") stay_away();
  Communicator* comm = nullptr;
  MUST(ncclCommInitRank(&comm, ranks, id, rank));
  int wrong = 0, sum = 0;
  for (int other = 0; other < ranks; ++other) sum += other + 1;
  std::vector<uint8_t> host(kBytes * static_cast<size_t>(ranks));
  for (int round = 0; round < kRounds; ++round) {
    write<<<1, 64>>>(own, static_cast<uint8_t>(rank + 1));
    MUST(ncclAllGather(own, all, kBytes, kUint8, comm, nullptr));
    MUST(hipMemcpy(host.data(), all, host.size(), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < host.size(); ++i) wrong += host[i] != i / kBytes + 1;
    if (is_one && round == 2 && how == "away") stay_away();
    if (is_one && round == 2 && how == "exits") _exit(7);
    MUST(ncclAllReduce(own, own, kBytes, kUint8, kSum, comm, nullptr));
    MUST(hipMemcpy(host.data(), own, kBytes, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < kBytes; ++i) wrong += host[i] != sum;
  }
  printf("rank %d: %d wrong\n", rank, wrong);
  return wrong != 0;
}
