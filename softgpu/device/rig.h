// For the tests of this folder: a Host, queues in ordinary memory, and an Executor (rig_test.cpp)
// whose kernels are functions that a test registers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/pinned.h"
#include "compute/executor.h"
#include "device/amd_abi.h"
#include "device/device.h"

namespace softgpu::testing {

// All memory is mapped, except what a test excludes.
class FakeHost : public Host {
 public:
  struct Raised {
    uint32_t gpu;
    uint64_t address;
    MemoryFault reason;
  };

  bool is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) override;
  void set_event(uint32_t event) override;
  void memory_fault(uint32_t gpu, uint64_t address, MemoryFault reason) override;
  void hardware_fault(uint32_t gpu) override;

  void unmap(uint64_t address, uint64_t bytes);
  int events(uint32_t event) const;
  std::vector<Raised> faults() const;
  int lost(uint32_t gpu) const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> holes_;
  std::map<uint32_t, int> events_, lost_;
  std::vector<Raised> faults_;
};

// The effect of the test Executor's run(). Unknown kernels have no code.
using Kernel = std::function<Outcome(const Dispatch&)>;
void set_kernel(const std::string& name, Kernel kernel);
void clear_kernels();

// Waits up to 10 s.
bool wait_until(const std::function<bool()>& condition);
bool wait_for_value(const AmdSignal& signal, int64_t value);
uint64_t handle(const AmdSignal& signal);
int64_t value(const AmdSignal& signal);

class AqlRing {
 public:
  AqlRing(Device& device, uint32_t id, uint32_t gpu = 0, uint32_t packets = 64);

  // Writes the packet without its header, then the header, then rings.
  void submit(const AqlPacket& packet);
  uint64_t reserve();
  void fill(uint64_t index, const AqlPacket& packet);
  void ring(uint64_t index);
  uint64_t read_index() const;
  AmdQueue& shared() { return *queue_; }
  AmdSignal& inactive() { return inactive_; }

 private:
  std::vector<AqlPacket> ring_;
  std::unique_ptr<AmdQueue> queue_;
  AmdSignal inactive_;
  std::atomic<uint64_t> doorbell_{~uint64_t{0}};
};

class SdmaRing {
 public:
  SdmaRing(Device& device, uint32_t id, uint32_t gpu = 0, uint32_t dwords = 16384);

  void put(std::initializer_list<uint32_t> dwords);  // without ringing
  void ring();
  uint64_t read_bytes() const { return read_.load(); }
  uint64_t written_bytes() const { return written_; }

 private:
  std::vector<uint32_t> ring_;
  uint64_t written_ = 0;
  std::atomic<uint64_t> read_{0}, write_{0}, doorbell_{0};
};

// A temporary file, and its lines as JSON.
class LogFile : sonde::Pinned {
 public:
  LogFile();
  ~LogFile();
  const std::string& path() const { return path_; }
  std::vector<nlohmann::json> lines(const std::string& line = "") const;

 private:
  std::string path_;
};

// A device with one GPU and one queue, and its log.
template <class Ring>
class QueueTest : public ::testing::Test {
 protected:
  void start(uint32_t queue, Config config) {
    config.log_path = log_.path();
    device_ = std::make_unique<Device>(config, host_);
    ring_ = std::make_unique<Ring>(*device_, queue);
  }
  FakeHost host_;
  LogFile log_;
  AmdSignal done_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<Device> device_;
};

uint32_t low(const void* address);
uint32_t high(const void* address);

// A loaded code object in memory: kernel names -> kernel objects.
class CodeObject : sonde::Pinned {
 public:
  explicit CodeObject(const std::vector<std::string>& kernels);
  ~CodeObject();
  void load(const std::vector<std::string>& kernels);  // replaces the contents
  uint64_t kernel(size_t i) const;
  KernelDescriptor& descriptor(size_t i) const;

 private:
  uint8_t* memory_ = nullptr;
};

AqlPacket dispatch_packet(uint64_t kernel_object, AmdSignal* completion = nullptr,
                          const void* kernarg = nullptr);
AqlPacket barrier_packet(AqlType type, std::vector<AmdSignal*> dep, AmdSignal* completion);

Config one_gpu();

}  // namespace softgpu::testing
