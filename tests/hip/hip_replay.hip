// hip_replay [held|flag|hands|box|graph|ipc|gone]: kernels that change what they read, in every kind of memory, beside
// copies and on several streams and GPUs. Prints sums that are wrong if one ran once too often or
// on wrong data.
//
// With "held" a copy waits for a function of the host's while a kernel runs on another stream; with
// "flag" kernels wait for what the host writes, once, with "hands" three times in turn; with "box" it
// writes beside a word of theirs. With "graph" kernels and copies are nodes of a graph; with "ipc" two
// processes' kernels change the memory of one, which the other opens, one after the other. With
// "gone" half of the host's memory that a kernel knows has been given back, and is still registered.
#include <hip/hip_runtime.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

constexpr int kItems = 1000;
constexpr int kGroup = 64;
constexpr int kGroups = (kItems + kGroup - 1) / kGroup;

__device__ int replay_variable[kItems];
static __device__ int replay_static[kItems];

__global__ void replay_in_place(int* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * 3 + 1;
}
__global__ void replay_atomic(int* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, i);
}
__global__ void replay_globals(int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  replay_variable[i] += i;
  replay_static[i] = replay_static[i] * 2 + replay_variable[i];
}
__global__ void replay_static_out(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = replay_static[i];
}
__global__ void replay_beside(int* p, const int* never_read, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * 3 + (never_read != nullptr ? 1 : 0);
}
struct Node {
  int* there;
};
__global__ void replay_indirect(Node* node, int n) {  // no argument points to what it writes
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) node->there[i] = node->there[i] * 5 + i;
}
__global__ void replay_waiting(int* flag, int* p, int n) {
  const int i = threadIdx.x;
  for (int at = i; at < n; at += kGroup) p[at] = p[at] * 3 + 1;
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
  }
  for (int at = i; at < n; at += kGroup) p[at] += at;
}
// Shakes hands with the host: neither goes on before the other has come to the round.
__global__ void replay_handshake(int* hands, int* p, int n, int rounds) {
  for (int round = 1; round <= rounds; ++round) {
    if (threadIdx.x == 0) {
      __hip_atomic_store(hands, round, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    }
    while (__hip_atomic_load(hands + 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != round) {
    }
    for (int at = threadIdx.x; at < n; at += kGroup) p[at] = p[at] * 3 + round;
  }
}
__global__ void replay_long(int* box, int* p, int rounds) {
  box[0] = 1;
  int value = p[0];
  for (int i = 0; i < rounds; ++i) value = value * 3 + i;
  p[0] = value;
}

namespace {

void check(hipError_t error, int line) {
  if (error == hipSuccess) return;
  std::printf("line %d: %s\n", line, hipGetErrorString(error));
  std::exit(1);
}
#define MUST(call) check((call), __LINE__)

int* device_ints() {
  int* p = nullptr;
  MUST(hipMalloc(reinterpret_cast<void**>(&p), kItems * sizeof(int)));
  MUST(hipMemset(p, 1, kItems * sizeof(int)));
  return p;
}

void print(const char* what, const int* values) {
  unsigned sum = 0;
  for (int i = 0; i < kItems; ++i) sum = sum * 31 + static_cast<unsigned>(values[i]);
  std::printf("%s %u\n", what, sum);
}

void print_device(const char* what, const int* p) {
  std::vector<int> values(kItems);
  MUST(hipMemcpy(values.data(), p, kItems * sizeof(int), hipMemcpyDeviceToHost));
  print(what, values.data());
}

// Two streams, each with data of its own that copies change between its kernels.
void streams() {
  hipStream_t on[2];
  int *there[2], *here[2];
  for (int s = 0; s < 2; ++s) {
    MUST(hipStreamCreate(&on[s]));
    there[s] = device_ints();
    MUST(hipHostMalloc(reinterpret_cast<void**>(&here[s]), kItems * sizeof(int), 0));
    for (int i = 0; i < kItems; ++i) here[s][i] = i + s;
  }
  MUST(hipDeviceSynchronize());
  for (int round = 0; round < 10; ++round) {
    for (int s = 0; s < 2; ++s) {
      replay_in_place<<<kGroups, kGroup, 0, on[s]>>>(there[s], kItems);
      MUST(hipMemcpyAsync(there[s] + 10 * round, here[s] + round, 9 * sizeof(int),
                          hipMemcpyHostToDevice, on[s]));
      replay_in_place<<<kGroups, kGroup, 0, on[s]>>>(there[s], kItems);
      MUST(hipMemcpyAsync(here[s] + 500, there[s] + round, 50 * sizeof(int), hipMemcpyDeviceToHost,
                          on[s]));
    }
  }
  MUST(hipDeviceSynchronize());
  for (int s = 0; s < 2; ++s) print_device("stream", there[s]);
  for (int s = 0; s < 2; ++s) print("copied", here[s]);
}

void host_memory() {
  int *managed = nullptr, *pinned = nullptr;
  MUST(hipMallocManaged(reinterpret_cast<void**>(&managed), kItems * sizeof(int)));
  MUST(hipHostMalloc(reinterpret_cast<void**>(&pinned), 2 * kItems * sizeof(int), 0));
  for (int i = 0; i < kItems; ++i) managed[i] = pinned[i] = pinned[kItems + i] = i;
  // The other half of the pinned memory is the host's, which writes to it all the time.
  std::atomic<bool> over = false;
  std::atomic<long> rounds = 0;
  std::thread writer([&] {
    for (; !over; ++rounds)
      __atomic_store_n(reinterpret_cast<long*>(pinned + kItems), rounds + 1, __ATOMIC_RELAXED);
  });
  while (rounds == 0) std::this_thread::yield();
  for (int round = 0; round < 5; ++round) {
    replay_in_place<<<kGroups, kGroup>>>(managed, kItems);
    replay_in_place<<<kGroups, kGroup>>>(pinned, kItems);
    replay_atomic<<<kGroups, kGroup>>>(pinned + 3, kItems);
  }
  MUST(hipDeviceSynchronize());
  over = true;
  writer.join();
  print("managed", managed);
  print("pinned", pinned);
  std::vector<int> registered(2 * kItems, 7);
  const size_t bytes = registered.size() * sizeof(int);
  int* there = nullptr;
  MUST(hipHostRegister(registered.data(), bytes, 0));
  MUST(hipHostGetDevicePointer(reinterpret_cast<void**>(&there), registered.data(), 0));
  for (int round = 0; round < 3; ++round)
    replay_in_place<<<kGroups, kGroup>>>(there + kItems / 2, kItems);
  MUST(hipDeviceSynchronize());
  print("registered", registered.data() + kItems / 2);
  MUST(hipHostUnregister(registered.data()));
  std::printf("the host's half is as it left it: %d\n",
              *reinterpret_cast<long*>(pinned + kItems) == rounds);
}

void variables() {
  int* out = device_ints();
  for (int round = 0; round < 4; ++round) replay_globals<<<kGroups, kGroup>>>(kItems);
  replay_static_out<<<kGroups, kGroup>>>(out, kItems);
  print_device("static", out);
  std::vector<int> values(kItems);
  MUST(hipMemcpyFromSymbol(values.data(), HIP_SYMBOL(replay_variable), kItems * sizeof(int)));
  print("variable", values.data());
}

void others() {
  Node node = {device_ints()};
  Node* there = nullptr;
  MUST(hipMalloc(reinterpret_cast<void**>(&there), sizeof node));
  MUST(hipMemcpy(there, &node, sizeof node, hipMemcpyHostToDevice));
  for (int round = 0; round < 3; ++round) replay_indirect<<<kGroups, kGroup>>>(there, kItems);
  print_device("indirect", node.there);
  int* sum = device_ints();
  for (int round = 0; round < 3; ++round) replay_atomic<<<kGroups, kGroup>>>(sum, kItems);
  print_device("atomic", sum);
  int gpus = 0;
  MUST(hipGetDeviceCount(&gpus));
  if (gpus < 2) return;
  MUST(hipSetDevice(1));
  int* far = device_ints();
  MUST(hipDeviceSynchronize());
  for (int round = 0; round < 3; ++round) {
    replay_in_place<<<kGroups, kGroup>>>(far, kItems);
    MUST(hipSetDevice(0));
    replay_in_place<<<kGroups, kGroup>>>(sum, kItems);
    MUST(hipSetDevice(1));
  }
  for (int gpu = 0; gpu < 2; ++gpu) {
    MUST(hipSetDevice(gpu));
    MUST(hipDeviceSynchronize());
  }
  MUST(hipMemcpy(sum, far, 100 * sizeof(int), hipMemcpyDeviceToDevice));
  print_device("far", far);
  MUST(hipSetDevice(0));
  print_device("near", sum);
}

void held() {
  static std::atomic<bool> go = false;
  hipStream_t busy, waits;
  MUST(hipStreamCreate(&busy));
  MUST(hipStreamCreate(&waits));
  int *there = device_ints(), *other = device_ints(), *here = nullptr;
  MUST(hipHostMalloc(reinterpret_cast<void**>(&here), kItems * sizeof(int), 0));
  MUST(hipDeviceSynchronize());
  const auto wait = [](hipStream_t, hipError_t, void*) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  MUST(hipStreamAddCallback(waits, wait, nullptr, 0));
  MUST(hipMemcpyAsync(here, there, kItems * sizeof(int), hipMemcpyDeviceToHost, waits));
  replay_in_place<<<kGroups, kGroup, 0, busy>>>(other, kItems);
  MUST(hipStreamSynchronize(busy));
  go = true;
  MUST(hipDeviceSynchronize());
  print("here", here);
  print_device("other", other);
}

void flag() {
  int *there = device_ints(), *host = nullptr;
  MUST(hipHostMalloc(reinterpret_cast<void**>(&host), 2 * sizeof(int), 0));
  for (int round = 0; round < 2; ++round) {
    host[round] = 0;
    replay_waiting<<<1, kGroup>>>(host + round, there, kItems);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that it waits
    __atomic_store_n(host + round, 1, __ATOMIC_RELEASE);
    MUST(hipDeviceSynchronize());
    replay_in_place<<<kGroups, kGroup>>>(there, kItems);
  }
  print_device("there", there);
  std::printf("flags %d %d\n", host[0], host[1]);
}

void hands() {
  int *there = device_ints(), *host = nullptr;
  MUST(hipHostMalloc(reinterpret_cast<void**>(&host), 2 * sizeof(int), 0));
  host[0] = host[1] = 0;
  replay_handshake<<<1, kGroup>>>(host, there, kItems, 3);
  for (int round = 1; round <= 3; ++round) {
    while (__atomic_load_n(host, __ATOMIC_ACQUIRE) != round) std::this_thread::yield();
    __atomic_store_n(host + 1, round, __ATOMIC_RELEASE);
  }
  MUST(hipDeviceSynchronize());
  replay_in_place<<<kGroups, kGroup>>>(there, kItems);
  print_device("there", there);
  std::printf("hands %d %d\n", host[0], host[1]);
}

void box() {
  int *there = device_ints(), *host = nullptr, lost = 0;
  MUST(hipHostMalloc(reinterpret_cast<void**>(&host), 2 * sizeof(int), 0));
  for (int round = 0; round < 4; ++round) {
    host[0] = host[1] = 0;
    replay_long<<<1, kGroup>>>(host, there, 1500000);
    const int writes = 25 + 7 * round;
    for (int i = 1; i <= writes; ++i) {  // at any time of its runs, and between them
      __atomic_store_n(host + 1, i, __ATOMIC_RELEASE);
      std::this_thread::sleep_for(std::chrono::milliseconds(7));
    }
    MUST(hipDeviceSynchronize());
    lost += host[0] != 1 || host[1] != writes ? 1 : 0;
  }
  print_device("there", there);
  std::printf("lost %d\n", lost);
}

void graph() {
  int *there = device_ints(), *other = device_ints(), *here = nullptr;
  MUST(hipHostMalloc(reinterpret_cast<void**>(&here), kItems * sizeof(int), 0));
  for (int i = 0; i < kItems; ++i) here[i] = i;
  hipStream_t on;
  MUST(hipStreamCreate(&on));
  hipGraph_t graph;
  hipGraphExec_t ready;
  MUST(hipStreamBeginCapture(on, hipStreamCaptureModeGlobal));
  replay_in_place<<<kGroups, kGroup, 0, on>>>(there, kItems);
  MUST(hipMemcpyAsync(other, there, 300 * sizeof(int), hipMemcpyDeviceToDevice, on));
  replay_atomic<<<kGroups, kGroup, 0, on>>>(other + 7, kItems);
  MUST(hipMemcpyAsync(there + 500, here, 50 * sizeof(int), hipMemcpyHostToDevice, on));
  replay_in_place<<<kGroups, kGroup, 0, on>>>(there, kItems);
  MUST(hipStreamEndCapture(on, &graph));
  MUST(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 5; ++i) MUST(hipGraphLaunch(ready, on));
  MUST(hipStreamSynchronize(on));
  print_device("there", there);
  print_device("other", other);
}

void pass(int fd) {
  if (write(fd, "x", 1) != 1) std::exit(1);
}
void await(int fd) {
  char byte;
  if (read(fd, &byte, 1) != 1) std::exit(1);
}

void ipc() {
  int down[2], up[2];
  if (pipe(down) != 0 || pipe(up) != 0) std::exit(1);
  const pid_t child = fork();  // before HIP is used
  hipIpcMemHandle_t handle;
  if (child != 0) {
    int *there = device_ints(), *other = device_ints();
    replay_in_place<<<kGroups, kGroup>>>(there, kItems);
    MUST(hipDeviceSynchronize());
    MUST(hipIpcGetMemHandle(&handle, there));
    if (write(down[1], &handle, sizeof handle) != sizeof handle) std::exit(1);
    await(up[0]);
    for (int i = 0; i < 30; ++i) {  // while the other's kernels run
      replay_in_place<<<kGroups, kGroup>>>(other, kItems);
      MUST(hipDeviceSynchronize());
    }
    await(up[0]);
    replay_in_place<<<kGroups, kGroup>>>(there, kItems);
    MUST(hipDeviceSynchronize());
    print_device("shared", there);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) std::exit(1);
    return;
  }
  if (read(down[0], &handle, sizeof handle) != sizeof handle) std::exit(1);
  int *theirs = nullptr, *own = device_ints();
  MUST(hipIpcOpenMemHandle(reinterpret_cast<void**>(&theirs), handle,
                           hipIpcMemLazyEnablePeerAccess));
  pass(up[1]);
  for (int i = 0; i < 30; ++i) {
    replay_in_place<<<kGroups, kGroup>>>(theirs, kItems);
    MUST(hipDeviceSynchronize());
  }
  MUST(hipIpcCloseMemHandle(theirs));
  for (int i = 0; i < 2; ++i) replay_in_place<<<kGroups, kGroup>>>(own, kItems);
  MUST(hipDeviceSynchronize());
  print_device("own", own);
  std::fflush(stdout);
  pass(up[1]);
}

void gone() {
  constexpr size_t kBytes = 4 << 20;
  void* const host =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (host == MAP_FAILED) std::exit(1);
  int *known = nullptr, *there = device_ints();
  MUST(hipHostRegister(host, kBytes, hipHostRegisterDefault));
  MUST(hipHostGetDevicePointer(reinterpret_cast<void**>(&known), host, 0));
  MUST(hipDeviceSynchronize());
  munmap(static_cast<char*>(host) + kBytes / 2, kBytes / 2);
  replay_beside<<<kGroups, kGroup>>>(there, known, kItems);
  MUST(hipDeviceSynchronize());
  print_device("there", there);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "held") == 0) {
    held();
    return 0;
  }
  if (count > 1 && std::strcmp(arguments[1], "flag") == 0) {
    flag();
    return 0;
  }
  if (count > 1 && std::strcmp(arguments[1], "hands") == 0) {
    hands();
    return 0;
  }
  if (count > 1 && std::strcmp(arguments[1], "box") == 0) {
    box();
    return 0;
  }
  if (count > 1 && std::strcmp(arguments[1], "graph") == 0) {
    graph();
    return 0;
  }
  if (count > 1 && std::strcmp(arguments[1], "ipc") == 0) {
    ipc();
    return 0;
  }
  if (count > 1 && std::strcmp(arguments[1], "gone") == 0) {
    gone();
    return 0;
  }
  streams();
  host_memory();
  variables();
  others();
  return 0;
}
