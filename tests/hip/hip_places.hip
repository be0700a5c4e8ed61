// Has a kernel fail in a place that programs have and simple tests do not: the first argument says
// which. Traced by tests/e2e/debug_places.toml.
#include "check_call.h"
#include "fault_kernels.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

// So large that ROCr gives each a block of its own, which is unmapped when it is freed.
constexpr int kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(int);

__attribute__((noinline)) static int* make_buffer() {
  int* memory = nullptr;
  CHECK(hipMalloc(&memory, kBytes));
  CHECK(hipMemset(memory, 0, kBytes));
  CHECK(hipDeviceSynchronize());
  return memory;
}

static void say(const void* values) {
  std::printf("{\"values\": \"%p\"}\n", values);
  std::fflush(stdout);
}

// The host maps memory of its own, in pieces, until it has got all addresses that were freed, if it
// ever does.
static void reuse_addresses() {
  constexpr size_t kPiece = 64 << 10;
  int* values = make_buffer();
  say(values);
  CHECK(hipFree(values));
  size_t got = 0;
  for (int i = 0; i < 4096 && got < kBytes; ++i) {
    auto* mine = static_cast<char*>(
        mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const auto* begin = reinterpret_cast<char*>(values);
    if (mine >= begin && mine < begin + kBytes) got += kPiece;
  }
  std::printf("the host has got %zu of their bytes\n", got);
  std::fflush(stdout);
  work::reuse<<<kCount / 256, 256>>>(values, kCount);
}

static void launch_graph() {
  int* values = make_buffer();
  say(values);
  int* where = nullptr;
  void* arguments[] = {&where, &values};
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(work::follow);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(64);
  kernel.kernelParams = arguments;
  hipGraph_t graph;
  hipGraphNode_t node;
  hipGraphExec_t ready;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
  CHECK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(ready, nullptr));
}

static void fail_in_child() {
  const pid_t child = fork();
  if (child != 0) {
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child ended by %d\n", WTERMSIG(status));
    std::exit(0);
  }
  int* values = make_buffer();
  say(values);
  work::follow<<<1, 64>>>(nullptr, values);
}

// Which has ended when the kernel, that waits for the flag, fails.
static void launch_from_thread_that_ends() {
  int* flag = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&flag), 4096, 0));
  *flag = 0;
  say(flag);
  std::thread([flag] {
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    work::later<<<1, 64, 0, stream>>>(flag, nullptr);
    CHECK(hipStreamQuery(stream) == hipErrorNotReady ? hipSuccess : hipSuccess);
  }).join();
  *static_cast<volatile int*>(flag) = 1;
}

// Compiled as the program runs, from a text that has no name and no lines.
static void launch_what_was_compiled_now() {
  void* library = dlopen("libhiprtc.so", RTLD_NOW);
  if (library == nullptr) library = RTLD_DEFAULT;
  const auto create = reinterpret_cast<int (*)(void**, const char*, const char*, int, const char**, const char**)>(
      dlsym(library, "hiprtcCreateProgram"));
  const auto compile = reinterpret_cast<int (*)(void*, int, const char**)>(dlsym(library, "hiprtcCompileProgram"));
  const auto size = reinterpret_cast<int (*)(void*, size_t*)>(dlsym(library, "hiprtcGetCodeSize"));
  const auto get = reinterpret_cast<int (*)(void*, char*)>(dlsym(library, "hiprtcGetCode"));
  void* program = nullptr;
  size_t bytes = 0;
  const char* text =
      "extern \"C\" __global__ void scatter(int* out, long distance) { out[threadIdx.x * distance] = 1; }";
  if (create(&program, text, nullptr, 0, nullptr, nullptr) != 0 || compile(program, 0, nullptr) != 0 ||
      size(program, &bytes) != 0) {
    std::exit(4);
  }
  std::string code(bytes, '\0');
  if (get(program, &code[0]) != 0) std::exit(4);
  hipModule_t module;
  hipFunction_t function;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&function, module, "scatter"));
  int* values = make_buffer();
  say(values);
  long distance = kCount;
  void* arguments[] = {&values, &distance};
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
}

static int* g_values;

static void launch_at_exit() {
  work::follow<<<1, 64>>>(nullptr, g_values);
  (void)hipDeviceSynchronize();
}

static void fail_on_both() {
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(hipSetDevice(gpu));
    int* values = make_buffer();
    if (gpu == 0) say(values);
    work::follow<<<1, 64>>>(nullptr, values);
  }
}

struct Pair {
  int* first;
  int* second;
};
__global__ void through(Pair pair, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) pair.first[i] = pair.second[i];
}

// A pointer in a structure, of memory that a stream has given back.
static void use_pointer_in_structure() {
  Pair pair = {make_buffer(), make_buffer()};
  say(pair.second);
  CHECK(hipFree(pair.second));
  through<<<kCount / 256, 256>>>(pair, kCount);
}

typedef void (*Step)(int*);
__global__ void call_through(Step* steps, int* values) { steps[0](values); }

// A table of functions that was never filled.
static void call_null() {
  int* values = make_buffer();
  say(values);
  call_through<<<1, 64>>>(reinterpret_cast<Step*>(values), values);
}

__device__ int g_table[16];
__global__ void beyond_table(long distance) { g_table[threadIdx.x + distance] = 1; }

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  if (which == "child") fail_in_child();
  if (which == "reused") reuse_addresses();
  if (which == "graph") launch_graph();
  if (which == "thread") launch_from_thread_that_ends();
  if (which == "rtc") launch_what_was_compiled_now();
  if (which == "both") fail_on_both();
  if (which == "structure") use_pointer_in_structure();
  if (which == "function") call_null();
  if (which == "variable") beyond_table<<<1, 64>>>(argc > 2 ? std::atol(argv[2]) : 1 << 20);
  if (which == "handler") {  // a program that has its own end
    std::signal(SIGABRT, [](int) { _exit(5); });
    int* values = make_buffer();
    say(values);
    work::follow<<<1, 64>>>(nullptr, values);
  }
  if (which == "unknown") {  // no kernel, and the program does not look
    say(nullptr);
    const auto* no_kernel = reinterpret_cast<const void*>(&make_buffer);
    (void)hipLaunchKernel(no_kernel, dim3(1), dim3(64), nullptr, 0, nullptr);
  }
  if (which == "exit") {
    g_values = make_buffer();
    say(g_values);
    std::atexit(launch_at_exit);
    return 0;
  }
  if (which == "forked") {  // a child that never uses the GPU, while its parent's has work
    int* values = make_buffer();
    say(values);
    work::spin<<<1, 64>>>(values);
    CHECK(hipStreamQuery(nullptr) == hipErrorNotReady ? hipSuccess : hipSuccess);
    const pid_t child = fork();
    if (child == 0) std::abort();
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child ended by %d\n", WTERMSIG(status));
    std::fflush(stdout);
    _exit(0);
  }
  CHECK(hipDeviceSynchronize());
  std::printf("done\n");
  return 0;
}
