// copies: moves patterns through every kind of copy and compares the results with the host's.
// Prints one line per failed check and a count at the end; exit status 1 if any failed.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "checks.h"

namespace {

void check(bool good, const char* what, size_t bytes) {
  ++checks;
  if (good) return;
  ++failures;
  std::printf("FAILED: %s, %zu bytes\n", what, bytes);
}

std::vector<uint8_t> pattern(size_t bytes, uint32_t seed) {
  std::vector<uint8_t> data(bytes);
  for (auto& each : data) each = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  return data;
}

void round_trip(size_t bytes, bool registered) {
  auto from = pattern(bytes, static_cast<uint32_t>(bytes));
  if (registered) MUST(hipHostRegister(from.data(), bytes, hipHostRegisterDefault));
  const OnDevice<uint8_t> first(from), second(bytes);
  MUST(hipMemcpy(second.p, first.p, bytes, hipMemcpyDeviceToDevice));
  check(second.get() == from, registered ? "registered round trip" : "pageable round trip", bytes);
  MUST(hipMemset(first.p, 0x5a, bytes));
  check(first.get() == std::vector<uint8_t>(bytes, 0x5a), "memset", bytes);
  if (registered) MUST(hipHostUnregister(from.data()));
}

void pinned(size_t bytes) {
  uint8_t* host = nullptr;
  MUST(hipHostMalloc(reinterpret_cast<void**>(&host), bytes, 0));
  const OnDevice<uint8_t> device(bytes);
  const auto data = pattern(bytes, 5);
  std::memcpy(host, data.data(), bytes);
  MUST(hipMemcpyAsync(device.p, host, bytes, hipMemcpyHostToDevice, nullptr));
  MUST(hipMemsetAsync(host, 0, bytes, nullptr));
  MUST(hipMemcpyAsync(host, device.p, bytes, hipMemcpyDeviceToHost, nullptr));
  MUST(hipStreamSynchronize(nullptr));
  check(std::memcmp(host, data.data(), bytes) == 0, "pinned", bytes);
  MUST(hipHostFree(host));
}

void rectangle() {
  constexpr size_t kPitch = 1000, kWidth = 300, kRows = 70;
  const auto from = pattern(kPitch * kRows, 9);
  std::vector<uint8_t> to(kPitch * kRows);
  uint8_t* device = nullptr;
  size_t pitch = 0;
  MUST(hipMallocPitch(reinterpret_cast<void**>(&device), &pitch, kWidth, kRows));
  MUST(hipMemcpy2D(device, pitch, from.data(), kPitch, kWidth, kRows, hipMemcpyHostToDevice));
  MUST(hipMemcpy2D(to.data(), kPitch, device, pitch, kWidth, kRows, hipMemcpyDeviceToHost));
  bool same = true;
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t i = 0; i < kPitch; ++i) {
      same &= to[row * kPitch + i] == (i < kWidth ? from[row * kPitch + i] : 0);
    }
  }
  check(same, "rectangle", kWidth * kRows);
  MUST(hipFree(device));
}

// From one GPU to the other, with and without peer access.
void peers(size_t bytes, bool enabled) {
  const auto data = pattern(bytes, 77);
  std::vector<uint8_t> to(bytes);
  uint8_t* memory[2] = {};
  for (int gpu = 0; gpu < 2; ++gpu) {
    MUST(hipSetDevice(gpu));
    MUST(hipMalloc(&memory[gpu], bytes));
    if (enabled) {
      int can = 0;
      MUST(hipDeviceCanAccessPeer(&can, gpu, 1 - gpu));
      check(can == 1, "peer access", 0);
      MUST(hipDeviceEnablePeerAccess(1 - gpu, 0));
    }
  }
  MUST(hipSetDevice(0));
  MUST(hipMemcpy(memory[0], data.data(), bytes, hipMemcpyHostToDevice));
  MUST(hipMemcpyPeer(memory[1], 1, memory[0], 0, bytes));
  MUST(hipDeviceSynchronize());
  MUST(hipMemset(memory[0], 0, bytes));
  MUST(hipSetDevice(1));
  MUST(hipMemcpy(to.data(), memory[1], bytes, hipMemcpyDeviceToHost));
  check(to == data, enabled ? "peer copy, access enabled" : "peer copy", bytes);
  for (int gpu = 0; gpu < 2; ++gpu) {
    MUST(hipSetDevice(gpu));
    if (enabled) MUST(hipDeviceDisablePeerAccess(1 - gpu));
    MUST(hipFree(memory[gpu]));
  }
  MUST(hipSetDevice(0));
}

void managed() {
  constexpr size_t kBytes = 1 << 20;
  uint8_t* memory = nullptr;
  MUST(hipMallocManaged(reinterpret_cast<void**>(&memory), kBytes));
  const auto data = pattern(kBytes, 3);
  std::memcpy(memory, data.data(), kBytes);
  const OnDevice<uint8_t> device(kBytes);
  MUST(hipMemcpy(device.p, memory, kBytes, hipMemcpyDefault));
  std::memset(memory, 0, kBytes);
  MUST(hipMemcpy(memory, device.p, kBytes, hipMemcpyDefault));
  check(std::memcmp(memory, data.data(), kBytes) == 0, "managed", kBytes);
  MUST(hipFree(memory));
}

}  // namespace

int main() {
  int gpus = 0;
  MUST(hipGetDeviceCount(&gpus));
  for (const size_t bytes : {size_t{1}, size_t{3}, size_t{64}, size_t{4095}, size_t{65537},
                             (size_t{1} << 20) + 1, size_t{20} << 20}) {
    round_trip(bytes, false);
    round_trip(bytes, true);
    pinned(bytes);
    if (gpus > 1) {
      peers(bytes, false);
      peers(bytes, true);
    }
  }
  rectangle();
  managed();
  std::printf("{\"gpus\": %d, \"checks\": %d, \"failures\": %d}\n", gpus, checks, failures);
  return failures == 0 ? 0 : 1;
}
