// librccl.so.1 whose collectives do what RCCL's do, as far as the order of things goes: each waits
// until all ranks are there, moves the data between the GPUs with copies, runs a kernel, and holds
// every rank's stream until the others' are done with its memory. Ranks are threads of one process
// (ncclCommInitAll), a GPU each; or processes (ncclCommInitRank), whose calls return at once, and
// whose kernels meet in memory of the host that they share. Counts are of bytes.
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define TRY(call) \
  if ((call) != hipSuccess) return kUnhandled

namespace {

constexpr int kUnhandled = 1;

__global__ void reduce_all(uint8_t* out, const uint8_t* parts, int ranks) {
  out[threadIdx.x] = static_cast<uint8_t>(parts[0] + ranks);
}

struct Rank {
  int device = 0;
  const void* send = nullptr;
  hipEvent_t ready = nullptr, done = nullptr;
  uint8_t* parts = nullptr;  // of all ranks, for a reduction
  size_t room = 0;
};
struct Group {
  pthread_barrier_t barrier;
  std::vector<Rank> ranks;
};

constexpr int kMostRanks = 8;
constexpr size_t kPart = 64 << 10;
struct Shared {  // by the processes of a communicator
  int joined;
  unsigned arrived, left;  // ranks, at all collectives so far
  uint8_t parts[kMostRanks][kPart];
};
struct UniqueId {
  char bytes[128];
};

struct Communicator {
  Group* group;
  int rank;
  int ranks;
  Shared* shared;  // nullptr: its ranks are threads
  unsigned calls;
};

// As RCCL's kernels do: the GPUs wait for each other.
__global__ void meet_all(Shared* shared, const uint8_t* send, uint8_t* recv, size_t bytes, int rank,
                         int ranks, unsigned call, bool sums) {
  for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) shared->parts[rank][i] = send[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_add(&shared->arrived, 1U, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
    while (__hip_atomic_load(&shared->arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) <
           call * static_cast<unsigned>(ranks)) {
      __builtin_amdgcn_s_sleep(8);
    }
  }
  __syncthreads();
  for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) {
    uint8_t sum = 0;
    for (int other = 0; other < ranks; ++other) {
      if (sums) sum += shared->parts[other][i];
      if (!sums) recv[static_cast<size_t>(other) * bytes + i] = shared->parts[other][i];
    }
    if (sums) recv[i] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_add(&shared->left, 1U, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
    while (__hip_atomic_load(&shared->left, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) <
           call * static_cast<unsigned>(ranks)) {
      __builtin_amdgcn_s_sleep(8);
    }
  }
}

int meet_in_memory(Communicator& comm, const void* send, void* recv, size_t bytes, bool sums,
                   hipStream_t stream) {
  if (bytes > kPart) return kUnhandled;
  meet_all<<<1, 64, 0, stream>>>(comm.shared, static_cast<const uint8_t*>(send),
                                 static_cast<uint8_t*>(recv), bytes, comm.rank, comm.ranks,
                                 ++comm.calls, sums);
  return 0;
}

// Everybody's data are ready on everybody's stream when this returns.
int meet(Group& group, Rank& own, const void* send, hipStream_t stream) {
  own.send = send;
  TRY(hipEventRecord(own.ready, stream));
  pthread_barrier_wait(&group.barrier);
  for (const Rank& rank : group.ranks) {
    if (&rank != &own) TRY(hipStreamWaitEvent(stream, rank.ready, 0));
  }
  return 0;
}

// Nobody goes on before all have read.
int part(Group& group, Rank& own, hipStream_t stream) {
  TRY(hipEventRecord(own.done, stream));
  pthread_barrier_wait(&group.barrier);
  for (const Rank& rank : group.ranks) {
    if (&rank != &own) TRY(hipStreamWaitEvent(stream, rank.done, 0));
  }
  pthread_barrier_wait(&group.barrier);  // the events may be recorded again
  return 0;
}

int gather(Group& group, const Rank& own, uint8_t* to, size_t bytes, hipStream_t stream) {
  for (size_t i = 0; i < group.ranks.size(); ++i) {
    TRY(hipMemcpyPeerAsync(to + i * bytes, own.device, group.ranks[i].send, group.ranks[i].device,
                           bytes, stream));
  }
  return 0;
}

}  // namespace

EXPORT int ncclCommInitAll(Communicator** comms, int ranks, const int* devices) {
  auto* group = new Group;
  pthread_barrier_init(&group->barrier, nullptr, static_cast<unsigned>(ranks));
  group->ranks.resize(static_cast<size_t>(ranks));
  for (int i = 0; i < ranks; ++i) {
    Rank& rank = group->ranks[static_cast<size_t>(i)];
    rank.device = devices[i];
    TRY(hipSetDevice(rank.device));
    TRY(hipEventCreateWithFlags(&rank.ready, hipEventDisableTiming));
    TRY(hipEventCreateWithFlags(&rank.done, hipEventDisableTiming));
    comms[i] = new Communicator{group, i, ranks, nullptr, 0};
  }
  return 0;
}

EXPORT int ncclGetUniqueId(UniqueId* id) {
  *id = {};
  snprintf(id->bytes, sizeof id->bytes, "/ring_rccl.%d", static_cast<int>(getpid()));
  return 0;
}

// Waits for the other ranks.
EXPORT int ncclCommInitRank(Communicator** comm, int ranks, UniqueId id, int rank) {
  if (ranks > kMostRanks) return kUnhandled;
  const int file = shm_open(id.bytes, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return kUnhandled;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return kUnhandled;
  auto* shared = static_cast<Shared*>(memory);
  __atomic_fetch_add(&shared->joined, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&shared->joined, __ATOMIC_ACQUIRE) < ranks) usleep(1000);
  shm_unlink(id.bytes);
  void* device = nullptr;
  TRY(hipHostRegister(memory, sizeof(Shared), hipHostRegisterMapped));
  TRY(hipHostGetDevicePointer(&device, memory, 0));
  *comm = new Communicator{nullptr, rank, ranks, static_cast<Shared*>(device), 0};
  return 0;
}

EXPORT int ncclCommCount(const Communicator* comm, int* count) {
  *count = comm->ranks;
  return 0;
}

EXPORT int ncclAllGather(const void* send, void* recv, size_t count, int, Communicator* comm,
                         hipStream_t stream) {
  if (comm->shared != nullptr) return meet_in_memory(*comm, send, recv, count, false, stream);
  Group& group = *comm->group;
  Rank& own = group.ranks[static_cast<size_t>(comm->rank)];
  if (meet(group, own, send, stream) != 0 ||
      gather(group, own, static_cast<uint8_t*>(recv), count, stream) != 0) {
    return kUnhandled;
  }
  return part(group, own, stream);
}

EXPORT int ncclAllReduce(const void* send, void* recv, size_t count, int, int, Communicator* comm,
                         hipStream_t stream) {
  if (comm->shared != nullptr) return meet_in_memory(*comm, send, recv, count, true, stream);
  Group& group = *comm->group;
  Rank& own = group.ranks[static_cast<size_t>(comm->rank)];
  if (own.room < count) {
    TRY(hipMalloc(&own.parts, count * group.ranks.size()));
    own.room = count;
  }
  if (meet(group, own, send, stream) != 0 || gather(group, own, own.parts, count, stream) != 0) {
    return kUnhandled;
  }
  reduce_all<<<1, 64, 0, stream>>>(static_cast<uint8_t*>(recv), own.parts, comm->rank);
  return part(group, own, stream);
}
