// ops: does one kind of work, counts the operations that it submits to the GPU, and prints the
// counts as JSON at the end, for check_log.py to compare with the software GPU's log. Data that
// copies and fills move is compared as well. Exit status 1 if anything failed.
//
// usage: ops MODE; the modes are at the end. No other copy has the sizes used here.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

extern "C" __global__ void op_add(float* a, const float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += b[i];
}
extern "C" __global__ void op_nothing() {}
extern "C" __global__ void op_touch(int* p) { p[threadIdx.x] += 1; }
// Run by many waves on the machine-code engine: a few stores to a lot of memory.
extern "C" __global__ void op_small_scratch(int* p, int n) {
  volatile int a[512];
  for (int i = 0; i < 512; i += 64) a[i] = p[i % n];
  p[threadIdx.x] = a[n * 4 & 511];
}
extern "C" __global__ void op_large_scratch(int* p, int n) {
  volatile int a[8192];
  for (int i = 0; i < 8192; i += 1024) a[i] = p[i % n];
  p[threadIdx.x] = a[n * 64 & 8191];
}

namespace {

std::mutex mutex;
std::map<std::string, long> kernels;  // launches
std::map<size_t, long> copies;        // bytes -> how many
int failures = 0;

void check(bool good, const char* what, int line) {
  if (good) return;
  std::printf("FAILED, line %d: %s\n", line, what);
  ++failures;
}
#define CHECK(condition) check((condition), #condition, __LINE__)
#define MUST(call) check((call) == 0, #call, __LINE__)

void launched(const char* name, long times = 1) {
  std::lock_guard<std::mutex> lock(mutex);
  kernels[name] += times;
}
void copied(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  ++copies[bytes];
}

template <class T>
T* device(size_t count) {
  T* memory = nullptr;
  MUST(hipMalloc(reinterpret_cast<void**>(&memory), count * sizeof(T)));
  return memory;
}
template <class T>
T* pinned(size_t count) {
  T* memory = nullptr;
  MUST(hipHostMalloc(reinterpret_cast<void**>(&memory), count * sizeof(T), 0));
  return memory;
}
hipStream_t stream() {
  hipStream_t made = nullptr;
  MUST(hipStreamCreate(&made));
  return made;
}

void vadd() {
  constexpr int kItems = 100'003;
  float *a = pinned<float>(kItems), *da = device<float>(kItems), *db = device<float>(kItems);
  for (int i = 0; i < kItems; ++i) a[i] = static_cast<float>(i);
  for (float* to : {da, db}) {
    MUST(hipMemcpy(to, a, kItems * 4, hipMemcpyHostToDevice));
    copied(kItems * 4);
  }
  op_add<<<dim3(400), dim3(256)>>>(da, db, kItems);
  launched("op_add");
  MUST(hipMemcpy(a, db, kItems * 4, hipMemcpyDeviceToHost));
  copied(kItems * 4);
  bool same = true;
  for (int i = 0; i < kItems; ++i) same &= a[i] == static_cast<float>(i);
  CHECK(same);
}

void streams() {
  int* memory = device<int>(256);
  hipStream_t all[4];
  for (auto& each : all) each = stream();
  for (int i = 0; i < 100; ++i) {
    for (auto& each : all) op_touch<<<8, 64, 0, each>>>(memory);
  }
  launched("op_touch", 400);
  for (auto& each : all) MUST(hipStreamSynchronize(each));
}

void events() {
  int* memory = device<int>(256);
  hipStream_t first = stream(), second = stream();
  hipEvent_t begin, end;
  MUST(hipEventCreate(&begin));
  MUST(hipEventCreate(&end));
  op_nothing<<<1, 64, 0, first>>>();
  MUST(hipStreamSynchronize(first));
  MUST(hipEventRecord(begin, first));
  for (int i = 0; i < 100; ++i) op_touch<<<1, 64, 0, first>>>(memory);
  MUST(hipEventRecord(end, first));
  MUST(hipStreamWaitEvent(second, end, 0));
  op_nothing<<<1, 64, 0, second>>>();
  MUST(hipStreamSynchronize(second));
  float ms = 0;
  MUST(hipEventElapsedTime(&ms, begin, end));
  CHECK(ms >= 0.199);  // 2 us each, less the rounding of the clock conversion
  launched("op_touch", 100);
  launched("op_nothing", 2);
}

void graph() {
  int* memory = device<int>(256);
  hipStream_t on = stream();
  hipGraph_t graph;
  hipGraphExec_t ready;
  MUST(hipStreamBeginCapture(on, hipStreamCaptureModeGlobal));
  for (int i = 0; i < 10; ++i) op_touch<<<1, 64, 0, on>>>(memory);
  MUST(hipStreamEndCapture(on, &graph));
  MUST(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 100; ++i) MUST(hipGraphLaunch(ready, on));
  MUST(hipStreamSynchronize(on));
  launched("op_touch", 1000);
}

void managed() {
  int* memory = nullptr;
  MUST(hipMallocManaged(reinterpret_cast<void**>(&memory), 4096));
  memory[0] = 5;
  op_touch<<<1, 64>>>(memory);
  MUST(hipDeviceSynchronize());
  CHECK(memory[0] == 5 || memory[0] == 6);  // without and with host code
  launched("op_touch");
}

void rtc() {
  const char* source = "extern \"C\" __global__ void op_rtc(float* x) { x[threadIdx.x] = 3.f; }";
  hiprtcProgram program;
  MUST(hiprtcCreateProgram(&program, source, "source.hip", 0, nullptr, nullptr));
  hipDeviceProp_t properties;
  MUST(hipGetDeviceProperties(&properties, 0));
  std::string option = std::string("--gpu-architecture=") + properties.gcnArchName;
  const char* options[] = {option.c_str()};
  MUST(hiprtcCompileProgram(program, 1, options));
  size_t bytes = 0;
  MUST(hiprtcGetCodeSize(program, &bytes));
  std::string code(bytes, 0);
  MUST(hiprtcGetCode(program, &code[0]));
  float* memory = device<float>(64);
  void* arguments[] = {&memory};
  // Loaded twice, so that its memory is reused.
  for (int i = 0; i < 2; ++i) {
    hipModule_t module;
    hipFunction_t function;
    MUST(hipModuleLoadData(&module, code.data()));
    MUST(hipModuleGetFunction(&function, module, "op_rtc"));
    MUST(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
    MUST(hipDeviceSynchronize());
    MUST(hipModuleUnload(module));
    launched("op_rtc");
  }
}

// A block from the middle, there and back, in two and three dimensions.
void rectangles() {
  constexpr size_t kPitch = 512, kRows = 48, kSlices = 6;
  constexpr size_t kWidth = 212, kHeight = 21, kDepth = 3;
  uint8_t *from = pinned<uint8_t>(kPitch * kRows * kSlices), *to = pinned<uint8_t>(kPitch * kRows * kSlices);
  for (size_t i = 0; i < kPitch * kRows * kSlices; ++i) from[i] = static_cast<uint8_t>(i * 7 + i / 256);
  std::memset(to, 0, kPitch * kRows * kSlices);
  uint8_t* there = device<uint8_t>(kPitch * kRows * kSlices);
  MUST(hipMemcpy2D(there + 4, kPitch, from + 8, kPitch, kWidth, kHeight, hipMemcpyHostToDevice));
  MUST(hipMemcpy2D(to, kPitch, there + 4, kPitch, kWidth, kHeight, hipMemcpyDeviceToHost));
  for (size_t y = 0; y < kHeight; ++y) {
    CHECK(std::memcmp(to + y * kPitch, from + 8 + y * kPitch, kWidth) == 0);
    CHECK(to[y * kPitch + kWidth] == 0);
  }
  copied(kWidth * kHeight);
  copied(kWidth * kHeight);

  std::memset(to, 0, kPitch * kRows * kSlices);
  hipMemcpy3DParms parameters = {};
  parameters.srcPtr = make_hipPitchedPtr(from, kPitch, kPitch, kRows);
  parameters.dstPtr = make_hipPitchedPtr(there, kPitch, kPitch, kRows);
  parameters.srcPos = make_hipPos(16, 2, 1);
  parameters.dstPos = make_hipPos(32, 5, 2);
  parameters.extent = make_hipExtent(kWidth, kHeight, kDepth);
  parameters.kind = hipMemcpyHostToDevice;
  MUST(hipMemcpy3D(&parameters));
  parameters.srcPtr = parameters.dstPtr;
  parameters.srcPos = parameters.dstPos;
  parameters.dstPtr = make_hipPitchedPtr(to, kPitch, kPitch, kRows);
  parameters.dstPos = make_hipPos(0, 0, 0);
  parameters.kind = hipMemcpyDeviceToHost;
  MUST(hipMemcpy3D(&parameters));
  for (size_t z = 0; z < kDepth; ++z) {
    for (size_t y = 0; y < kHeight; ++y) {
      CHECK(std::memcmp(to + (z * kRows + y) * kPitch,
                        from + ((z + 1) * kRows + y + 2) * kPitch + 16, kWidth) == 0);
    }
  }
  copied(kWidth * kHeight * kDepth);
  copied(kWidth * kHeight * kDepth);
}

void fills() {
  constexpr size_t kPitch = 512, kRows = 64, kWidth = 300, kHeight = 20;
  uint8_t *there = device<uint8_t>(kPitch * kRows), *back = pinned<uint8_t>(kPitch * kRows);
  MUST(hipMemset(there, 0x11, kPitch * kRows));
  MUST(hipMemset2D(there + kPitch, kPitch, 0x22, kWidth, kHeight));
  MUST(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(there + 40 * kPitch), 0x12345678, 77));
  MUST(hipMemcpy(back, there, kPitch * kRows, hipMemcpyDeviceToHost));
  copied(kPitch * kRows);
  CHECK(back[0] == 0x11 && back[kPitch - 1] == 0x11 && back[39 * kPitch] == 0x11);
  for (size_t y = 0; y < kHeight; ++y) {
    const uint8_t* row = back + (y + 1) * kPitch;
    CHECK(row[0] == 0x22 && row[kWidth - 1] == 0x22 && row[kWidth] == 0x11);
  }
  CHECK(std::memcmp(back + 40 * kPitch + 76 * 4, "\x78\x56\x34\x12\x11", 5) == 0);
}

void peers() {
  constexpr size_t kBytes = 777'777;
  uint8_t* memory[2] = {};
  for (int gpu = 0; gpu < 2; ++gpu) {
    MUST(hipSetDevice(gpu));
    int can = 0;
    MUST(hipDeviceCanAccessPeer(&can, gpu, 1 - gpu));
    if (can) MUST(hipDeviceEnablePeerAccess(1 - gpu, 0));
    memory[gpu] = device<uint8_t>(kBytes);
    MUST(hipMemset(memory[gpu], gpu + 1, kBytes));
    MUST(hipDeviceSynchronize());
  }
  for (int i = 0; i < 10; ++i) {
    MUST(hipMemcpyPeer(memory[i % 2], i % 2, memory[1 - i % 2], 1 - i % 2, kBytes));
    copied(kBytes);
  }
  uint8_t* back = pinned<uint8_t>(kBytes);
  MUST(hipMemcpy(back, memory[1], kBytes, hipMemcpyDeviceToHost));
  copied(kBytes);
  CHECK(back[0] == 2 && back[kBytes - 1] == 2);
}

void threads() {
  constexpr int kThreads = 4, kEach = 5000;
  std::vector<std::thread> all;
  for (int t = 0; t < kThreads; ++t) {
    all.emplace_back([] {
      hipStream_t own = stream();
      for (int i = 0; i < kEach; ++i) {
        op_nothing<<<1, 64, 0, own>>>();
        if (i % 100 == 99) MUST(hipStreamSynchronize(own));
      }
      MUST(hipStreamSynchronize(own));
      launched("op_nothing", kEach);
    });
  }
  for (std::thread& each : all) each.join();
}

void storm() {
  for (int i = 0; i < 20'000; ++i) op_nothing<<<1, 64>>>();
  MUST(hipDeviceSynchronize());
  launched("op_nothing", 20'000);
}

// Works at intervals: clocks drift apart meanwhile.
void paced(int seconds) {
  constexpr size_t kBytes = 4321;
  uint8_t *there = device<uint8_t>(kBytes), *here = pinned<uint8_t>(kBytes);
  hipStream_t on = stream();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  long rounds = 0;
  for (; std::chrono::steady_clock::now() < end; ++rounds) {
    for (int i = 0; i < 3; ++i) op_nothing<<<1, 64, 0, on>>>();
    MUST(hipMemcpyAsync(there, here, kBytes, hipMemcpyHostToDevice, on));
    MUST(hipStreamSynchronize(on));
    copied(kBytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  launched("op_nothing", 3 * rounds);
}
void seconds() { paced(3); }
void minute() { paced(60); }

void scratch() {
  int* memory = device<int>(256);
  for (int i = 0; i < 3; ++i) {
    op_small_scratch<<<4, 64>>>(memory, 16);
    op_large_scratch<<<4, 64>>>(memory, 16);
    op_small_scratch<<<40'000, 64>>>(memory, 16);
    MUST(hipDeviceSynchronize());
  }
  launched("op_small_scratch", 6);
  launched("op_large_scratch", 3);
}

void stream_values() {
  hipStream_t waits = stream(), writes = stream();
  void* flag = nullptr;
  MUST(hipExtMallocWithFlags(&flag, 8, hipMallocSignalMemory));
  MUST(hipMemset(flag, 0, 8));
  MUST(hipDeviceSynchronize());
  MUST(hipStreamWaitValue64(waits, flag, 1, hipStreamWaitValueGte, ~0ull));
  op_nothing<<<1, 64, 0, waits>>>();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(hipStreamQuery(waits) == hipErrorNotReady);
  MUST(hipStreamWriteValue64(writes, flag, 1, 0));
  MUST(hipStreamSynchronize(waits));
  launched("op_nothing");
}

// Needs 4 GiB of device memory: the host's buffer consists of zero pages that share one.
void large() {
  constexpr size_t kBytes = (size_t{4} << 30) + 12'345;
  uint8_t* memory = device<uint8_t>(kBytes);
  void* zeros = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(zeros != MAP_FAILED);
  MUST(hipMemcpy(memory, zeros, kBytes, hipMemcpyHostToDevice));
  MUST(hipDeviceSynchronize());
}

const struct {
  const char* name;
  void (*run)();
} kModes[] = {{"vadd", vadd},       {"streams", streams}, {"events", events},
              {"graph", graph},     {"managed", managed}, {"rtc", rtc},
              {"rectangles", rectangles}, {"fills", fills}, {"peers", peers},
              {"threads", threads}, {"storm", storm},     {"scratch", scratch},
              {"stream_values", stream_values}, {"large", large},
              {"seconds", seconds}, {"minute", minute}};

}  // namespace

int main(int count, char** arguments) {
  bool found = false;
  for (const auto& mode : kModes) {
    if (count != 2 || std::strcmp(arguments[1], mode.name) != 0) continue;
    mode.run();
    found = true;
  }
  if (!found) {
    std::printf("usage: ops MODE\n");
    return 2;
  }
  std::printf("{\"kernels\": {");
  const char* comma = "";
  for (const auto& [name, launches] : kernels) {
    std::printf("%s\"%s\": %ld", comma, name.c_str(), launches);
    comma = ", ";
  }
  std::printf("}, \"copies\": {");
  comma = "";
  for (const auto& [bytes, times] : copies) {
    std::printf("%s\"%zu\": %ld", comma, bytes, times);
    comma = ", ";
  }
  std::printf("}, \"failures\": %d}\n", failures);
  return failures != 0;
}
