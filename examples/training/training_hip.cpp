// A loop that looks like training: each step loads a batch, copies it to the GPU, and runs three
// layers forward and an update. It is slow, because the GPU waits while a batch is loaded; with
// --prefetch the next batches are loaded by threads while the GPU works. `./dev demo` records both.
//
//   training_hip [--prefetch] [--steps N]
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "sonde/sonde.h"

namespace {

constexpr int kBatch = 16, kWidth = 256, kLayers = 3, kWorkers = 4;
constexpr auto kReadTime = std::chrono::milliseconds(60);  // of a batch, from a slow disk

// out = max(0, in x weights), all square but `in` and `out`, which have a row for each sample.
__global__ void layer_forward(const float* in, const float* weights, float* out) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  float sum = 0.0F;
  for (int i = 0; i < kWidth; ++i) sum += in[row * kWidth + i] * weights[i * kWidth + column];
  out[row * kWidth + column] = sum > 0.0F ? sum : 0.0F;
}

__global__ void update_weights(float* weights, float rate) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  weights[i] -= rate * weights[i];
}

void check(hipError_t code, const char* what) {
  if (code == hipSuccess) return;
  std::fprintf(stderr, "training_hip: %s failed: %s\n", what, hipGetErrorString(code));
  std::exit(1);
}

float* device_floats(size_t count) {
  void* memory = nullptr;
  check(hipMalloc(&memory, count * sizeof(float)), "hipMalloc");
  check(hipMemset(memory, 0, count * sizeof(float)), "hipMemset");
  return static_cast<float*>(memory);
}

using Samples = std::vector<float>;

Samples load_batch(int step) {
  sonde_range_push("DataLoader: read a batch");
  std::this_thread::sleep_for(kReadTime);
  Samples batch(static_cast<size_t>(kBatch) * kWidth, 1.0F / static_cast<float>(1 + step));
  sonde_range_pop();
  return batch;
}

struct Model {
  float* batch = device_floats(static_cast<size_t>(kBatch) * kWidth);
  float* hidden = device_floats(static_cast<size_t>(kBatch) * kWidth);
  float* weights[kLayers];
  Model() {
    std::vector<float> initial(static_cast<size_t>(kWidth) * kWidth);
    for (size_t i = 0; i < initial.size(); ++i)
      initial[i] = static_cast<float>(i * 7 % 15) / 256.0F;
    for (float*& layer : weights) {
      layer = device_floats(initial.size());
      check(hipMemcpy(layer, initial.data(), initial.size() * sizeof(float), hipMemcpyHostToDevice),
            "hipMemcpy");
    }
  }
  float mean_output() const {
    std::vector<float> out(static_cast<size_t>(kBatch) * kWidth);
    check(hipMemcpy(out.data(), hidden, out.size() * sizeof(float), hipMemcpyDeviceToHost),
          "hipMemcpy");
    return std::accumulate(out.begin(), out.end(), 0.0F) / static_cast<float>(out.size());
  }
};

void train(Model& model, const Samples& batch) {
  check(hipMemcpy(model.batch, batch.data(), batch.size() * sizeof(float), hipMemcpyHostToDevice),
        "hipMemcpy");
  float *in = model.batch, *out = model.hidden;
  for (float* weights : model.weights) {
    layer_forward<<<dim3(kWidth / 64, kBatch), dim3(64)>>>(in, weights, out);
    std::swap(in, out);
  }
  for (float* weights : model.weights) {
    update_weights<<<dim3(kWidth * kWidth / 64), dim3(64)>>>(weights, 0.01F);
  }
  check(hipGetLastError(), "a launch");
  check(hipDeviceSynchronize(), "hipDeviceSynchronize");
}

}  // namespace

int main(int argc, char** argv) {
  bool prefetches = false;
  int steps = 20;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--prefetch") == 0) prefetches = true;
    if (std::strcmp(argv[i], "--steps") == 0 && i + 1 < argc) steps = std::atoi(argv[++i]);
  }
  Model model;
  train(model, load_batch(0));  // the first launch of a kernel loads its code
  const auto start = std::chrono::steady_clock::now();
  std::deque<std::future<Samples>> next;
  const auto read_ahead = [&](int step) {
    if (step < steps) next.push_back(std::async(std::launch::async, load_batch, step));
  };
  for (int step = 0; prefetches && step < kWorkers; ++step) read_ahead(step);
  for (int step = 0; step < steps; ++step) {
    sonde_range_push(("ProfilerStep#" + std::to_string(step)).c_str());
    if (prefetches) {
      train(model, next.front().get());
      next.pop_front();
      read_ahead(step + kWorkers);
    } else {
      train(model, load_batch(step));
    }
    sonde_range_pop();
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("%d steps of %d samples in %.2f s: %.0f samples a second\n", steps, kBatch,
              elapsed.count(), steps * kBatch / elapsed.count());
  std::printf("mean output %.9g\n", model.mean_output());
  return 0;
}
