// Has a kernel fail; the first argument says which. Traced by tests/e2e/debug.toml and
// tests/hip/faults_test.py.
#include "check_call.h"
#include "fault_kernels.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// So large that ROCr gives each a block of its own, which is unmapped when it is freed.
constexpr int kCount = 1 << 20;

template <typename T>
__attribute__((noinline)) T* make_buffer(size_t count) {
  T* memory = nullptr;
  CHECK(hipMalloc(&memory, count * sizeof(T)));
  CHECK(hipMemset(memory, 0, count * sizeof(T)));
  return memory;
}

__attribute__((noinline)) void drop_buffer(void* memory) { CHECK(hipFree(memory)); }

static long g_distance = kCount;

// Overwrites what malloc() has written behind its blocks, and nothing else: a runtime whose own
// objects are damaged may do anything, such as search a list without an end.
static void damage_heap() {
  struct {
    void* start;
    size_t size;
  } blocks[64];
  for (int i = 0; i < 64; ++i) {
    blocks[i].start = std::malloc(static_cast<size_t>(16) << (i % 8));
    blocks[i].size = malloc_usable_size(blocks[i].start);
  }
  for (auto& block : blocks) std::memset(block.start, 0x41, block.size + sizeof(size_t));
}

static void run(const std::string& which) {
  float* in = make_buffer<float>(kCount);
  float* out = make_buffer<float>(kCount);
  int* values = make_buffer<int>(kCount);
  for (int i = 0; i < 20; ++i) work::fill<<<kCount / 256, 256>>>(in, kCount, 1.0f);
  CHECK(hipDeviceSynchronize());
  std::printf("{\"in\": \"%p\", \"out\": \"%p\", \"values\": \"%p\"}\n", (void*)in, (void*)out,
              (void*)values);
  std::fflush(stdout);
  if (which == "none") return;
  if (which == "page") work::overrun<<<kCount / 256, 256>>>(out, in, kCount, g_distance);
  if (which == "free") {
    drop_buffer(values);
    work::reuse<<<kCount / 256, 256>>>(values, kCount);
  }
  if (which == "null") work::follow<<<1, 64>>>(nullptr, values);
  if (which == "host") work::follow<<<1, 64>>>(static_cast<int*>(std::calloc(1 << 20, 4)), values);
  if (which == "trap") work::trap<<<2, 64>>>(values);
  if (which == "illegal") work::illegal<<<1, 64>>>(values);
  if (which == "misaligned") work::misalign<<<1, 64>>>(values);
  if (which == "misaligned_lds") work::misalign_shared<<<1, 64>>>(values);
  if (which == "scratch") work::overflow<<<1, 64>>>(values);
  if (which == "lds") work::outside<<<1, 64>>>(values);
  if (which == "assert") work::check<<<1, 64>>>(values, 2);
  if (which == "heap") {
    int* flag = nullptr;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&flag), 4096, 0));
    *flag = 0;
    work::later<<<1, 64>>>(flag, nullptr);
    CHECK(hipStreamQuery(nullptr) == hipErrorNotReady ? hipSuccess : hipSuccess);
    damage_heap();
    *static_cast<volatile int*>(flag) = 1;
    for (;;) pause();
  }
  if (which == "crowd") work::spin<<<24, 1024>>>(values);
  if (which == "crash" || which == "spin") {
    work::spin<<<1, 64>>>(values);
    if (which == "crash") {
      CHECK(hipStreamQuery(nullptr) == hipErrorNotReady ? hipSuccess : hipSuccess);
      std::abort();
    }
  }
  if (which == "error") CHECK(hipMemcpy(values, in, size_t{1} << 40, hipMemcpyDeviceToDevice));
  CHECK(hipDeviceSynchronize());
  std::printf("done\n");
}

int main(int argc, char** argv) {
  if (argc > 2) g_distance = std::atol(argv[2]);
  run(argc > 1 ? argv[1] : "none");
  return 0;
}
