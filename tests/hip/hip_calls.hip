// Launches, copies and graphs, counted by the program itself. Prints the counts as JSON.
//   hip_calls [--launches N] [--threads N] [--graphs N] [--dlsym]
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "check_call.h"

namespace work {
template <typename T>
__global__ void scale(T* data, T factor) {
  data[threadIdx.x] *= factor;
}
}  // namespace work
__global__ void add_one(int* data) { data[threadIdx.x] += 1; }

static int option(int argc, char** argv, const char* name, int other) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return atoi(argv[i + 1]);
  }
  return other;
}

int main(int argc, char** argv) {
  const int launches = option(argc, argv, "--launches", 10);
  const int threads = option(argc, argv, "--threads", 1);
  const int graphs = option(argc, argv, "--graphs", 0);
  const size_t bytes = 1 << 20;
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  void* data = nullptr;
  CHECK(hipMalloc(&data, bytes));
  std::vector<char> host(bytes, 1);
  // ROCTX, where a profiler provides it.
  const auto push = (int (*)(const char*))dlsym(RTLD_DEFAULT, "roctxRangePushA");
  const auto pop = (int (*)())dlsym(RTLD_DEFAULT, "roctxRangePop");
  if (push != nullptr) push("upload"), push("inner");
  CHECK(hipMemcpy(data, host.data(), bytes, hipMemcpyHostToDevice));
  if (pop != nullptr) pop(), pop();
  void* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, bytes, 0));
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([=] {
      hipStream_t stream;
      CHECK(hipStreamCreate(&stream));
      for (int i = 0; i < launches; ++i) add_one<<<dim3(3, 2), 64, 0, stream>>>((int*)data);
      CHECK(hipStreamSynchronize(stream));
      CHECK(hipStreamDestroy(stream));
    });
  }
  for (auto& worker : workers) worker.join();
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  work::scale<float><<<1, 128, 256, stream>>>((float*)data, 2.0f);
  CHECK(hipMemcpyAsync(pinned, data, bytes / 2, hipMemcpyDeviceToHost, stream));
  CHECK(hipMemcpyAsync(data, pinned, bytes / 4, hipMemcpyDefault, stream));
  CHECK(hipStreamSynchronize(stream));
  void* none = nullptr;
  const int failed = hipMalloc(&none, size_t{1} << 50);
  (void)hipGetLastError();
  if (graphs > 0) {
    hipGraph_t graph;
    hipGraphExec_t executable;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (int i = 0; i < 3; ++i) add_one<<<1, 64, 0, stream>>>((int*)data);
    work::scale<float><<<1, 64, 0, stream>>>((float*)data, 3.0f);
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    for (int i = 0; i < graphs; ++i) CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipGraphExecDestroy(executable));
    CHECK(hipGraphDestroy(graph));
  }
  CHECK(hipHostFree(pinned));
  CHECK(hipFree(data));
  printf("{\"add_one\": %d, \"scale\": %d, \"launch_calls\": %d, \"graphs\": %d, \"failed\": %d, "
         "\"data\": \"%p\", \"pinned\": \"%p\"}\n",
         launches * threads + 3 * graphs, 1 + graphs, launches * threads + 1 + (graphs > 0 ? 4 : 0),
         graphs, failed, data, pinned);
}
