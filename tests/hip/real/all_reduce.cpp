// A sum over two GPUs of one process with AMD's RCCL: all_reduce [ROUNDS]. Prints how many numbers
// are wrong. Not part of the build: tests/e2e/soak/programs.toml compiles it where librccl-dev is
// installed.
#include <hip/hip_runtime_api.h>
#include <rccl/rccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kGpus = 2, kNumbers = 1000;

void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}

void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::printf("%s: %s\n", what, ncclGetErrorString(result));
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  ncclComm_t communicators[kGpus];
  const int devices[kGpus] = {0, 1};
  check(ncclCommInitAll(communicators, kGpus, devices), "ncclCommInitAll");
  float* data[kGpus];
  hipStream_t streams[kGpus];
  std::vector<float> numbers(kNumbers);
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    check(hipSetDevice(gpu), "hipSetDevice");
    check(hipMalloc(reinterpret_cast<void**>(&data[gpu]), kNumbers * sizeof(float)), "hipMalloc");
    check(hipStreamCreate(&streams[gpu]), "hipStreamCreate");
    for (int i = 0; i < kNumbers; ++i) numbers[i] = static_cast<float>((gpu + 1) * i);
    check(hipMemcpy(data[gpu], numbers.data(), kNumbers * sizeof(float), hipMemcpyHostToDevice),
          "hipMemcpy");
  }
  for (int round = 0; round < rounds; ++round) {
    check(ncclGroupStart(), "ncclGroupStart");
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      check(ncclAllReduce(data[gpu], data[gpu], kNumbers, ncclFloat, ncclSum, communicators[gpu],
                          streams[gpu]),
            "ncclAllReduce");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
  }
  int wrong = 0;
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    check(hipSetDevice(gpu), "hipSetDevice");
    check(hipStreamSynchronize(streams[gpu]), "hipStreamSynchronize");
    check(hipMemcpy(numbers.data(), data[gpu], kNumbers * sizeof(float), hipMemcpyDeviceToHost),
          "hipMemcpy");
    // 1 and 2 in the first round are 3 on both, which double in each round that follows.
    const float factor = 3.0F * static_cast<float>(1 << (rounds - 1));
    for (int i = 0; i < kNumbers; ++i) wrong += numbers[i] != factor * static_cast<float>(i);
    check(ncclCommDestroy(communicators[gpu]), "ncclCommDestroy");
  }
  std::printf("{\"wrong\": %d}\n", wrong);
  return wrong != 0;
}
