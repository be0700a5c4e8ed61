#include "device/rig.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

namespace softgpu::testing {
namespace {

std::mutex kernels_mutex;
std::map<std::string, Kernel, std::less<>> kernels;

}  // namespace

bool FakeHost::is_mapped(uint32_t, uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  for (const auto& [start, size] : holes_) {
    if (address < start + size && start < address + bytes) return false;
  }
  return true;
}

void FakeHost::set_event(uint32_t event) {
  std::lock_guard lock(mutex_);
  ++events_[event];
}

void FakeHost::memory_fault(uint32_t gpu, uint64_t address, MemoryFault reason) {
  std::lock_guard lock(mutex_);
  faults_.push_back({gpu, address, reason});
}

void FakeHost::hardware_fault(uint32_t gpu) {
  std::lock_guard lock(mutex_);
  ++lost_[gpu];
}

void FakeHost::unmap(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  holes_[address] = bytes;
}

int FakeHost::events(uint32_t event) const {
  std::lock_guard lock(mutex_);
  return events_.contains(event) ? events_.at(event) : 0;
}

std::vector<FakeHost::Raised> FakeHost::faults() const {
  std::lock_guard lock(mutex_);
  return faults_;
}

int FakeHost::lost(uint32_t gpu) const {
  std::lock_guard lock(mutex_);
  return lost_.contains(gpu) ? lost_.at(gpu) : 0;
}

void set_kernel(const std::string& name, Kernel kernel) {
  std::lock_guard lock(kernels_mutex);
  kernels[name] = std::move(kernel);
}

void clear_kernels() {
  std::lock_guard lock(kernels_mutex);
  kernels.clear();
}

bool wait_until(const std::function<bool()>& condition) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

int64_t value(const AmdSignal& signal) { return __atomic_load_n(&signal.value, __ATOMIC_ACQUIRE); }
bool wait_for_value(const AmdSignal& signal, int64_t wanted) {
  return wait_until([&] { return value(signal) == wanted; });
}
uint64_t handle(const AmdSignal& signal) { return reinterpret_cast<uint64_t>(&signal); }

AqlRing::AqlRing(Device& device, uint32_t id, uint32_t gpu, uint32_t packets)
    : ring_(packets), queue_(std::make_unique<AmdQueue>()) {
  for (AqlPacket& packet : ring_) packet.header = kAqlInvalid;
  queue_->properties = kQueueProfiling;
  queue_->inactive_signal = handle(inactive_);
  device.add_queue({.id = id,
                    .gpu = gpu,
                    .ring = reinterpret_cast<uint64_t>(ring_.data()),
                    .ring_bytes = ring_.size() * sizeof(AqlPacket),
                    .read_pointer = reinterpret_cast<uint64_t>(&queue_->read_dispatch_id),
                    .write_pointer = reinterpret_cast<uint64_t>(&queue_->write_dispatch_id),
                    .doorbell = reinterpret_cast<uint64_t>(&doorbell_)});
}

uint64_t AqlRing::reserve() {
  uint64_t index = __atomic_fetch_add(&queue_->write_dispatch_id, 1, __ATOMIC_ACQ_REL);
  wait_until([&] { return index < read_index() + ring_.size(); });
  return index;
}

void AqlRing::fill(uint64_t index, const AqlPacket& packet) {
  AqlPacket& slot = ring_[index % ring_.size()];
  std::memcpy(reinterpret_cast<char*>(&slot) + 2, reinterpret_cast<const char*>(&packet) + 2,
              sizeof packet - 2);
  __atomic_store_n(&slot.header, packet.header, __ATOMIC_RELEASE);
}

void AqlRing::ring(uint64_t index) { doorbell_.store(index); }

void AqlRing::submit(const AqlPacket& packet) {
  uint64_t index = reserve();
  fill(index, packet);
  ring(index);
}

uint64_t AqlRing::read_index() const {
  return __atomic_load_n(&queue_->read_dispatch_id, __ATOMIC_ACQUIRE);
}

SdmaRing::SdmaRing(Device& device, uint32_t id, uint32_t gpu, uint32_t dwords) : ring_(dwords) {
  device.add_queue({.id = id,
                    .gpu = gpu,
                    .kind = QueueKind::kSdma,
                    .ring = reinterpret_cast<uint64_t>(ring_.data()),
                    .ring_bytes = ring_.size() * 4,
                    .read_pointer = reinterpret_cast<uint64_t>(&read_),
                    .write_pointer = reinterpret_cast<uint64_t>(&write_),
                    .doorbell = reinterpret_cast<uint64_t>(&doorbell_)});
}

void SdmaRing::put(std::initializer_list<uint32_t> dwords) {
  for (uint32_t dword : dwords) {
    ring_[written_ / 4 % ring_.size()] = dword;
    written_ += 4;
  }
}

void SdmaRing::ring() {
  write_ = written_;
  doorbell_ = written_;
}

uint32_t low(const void* address) {
  return static_cast<uint32_t>(reinterpret_cast<uint64_t>(address));
}
uint32_t high(const void* address) { return reinterpret_cast<uint64_t>(address) >> 32; }

namespace {

// Offsets in the tests' code object.
constexpr uint64_t kDynamic = 0x200, kHash = 0x300, kSymbols = 0x400, kText = 0x1000,
                   kDescriptors = 0x3000, kBytes = 0x5000;

}  // namespace

CodeObject::CodeObject(const std::vector<std::string>& names) {
  memory_ = static_cast<uint8_t*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  load(names);
}

CodeObject::~CodeObject() { munmap(memory_, kBytes); }

void CodeObject::load(const std::vector<std::string>& names) {
  std::memset(memory_, 0, kBytes);
  auto& header = *reinterpret_cast<Elf64_Ehdr*>(memory_);
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_machine = 224;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  auto& segment = *reinterpret_cast<Elf64_Phdr*>(memory_ + sizeof header);
  segment.p_type = PT_DYNAMIC;
  segment.p_vaddr = kDynamic;
  auto* dynamic = reinterpret_cast<Elf64_Dyn*>(memory_ + kDynamic);
  dynamic[0] = {DT_SYMTAB, {kSymbols}};
  dynamic[1] = {DT_STRTAB, {kText}};
  dynamic[2] = {DT_HASH, {kHash}};
  reinterpret_cast<uint32_t*>(memory_ + kHash)[1] = static_cast<uint32_t>(names.size() * 2 + 1);
  auto* symbols = reinterpret_cast<Elf64_Sym*>(memory_ + kSymbols) + 1;
  uint32_t text = 1;
  auto add = [&](const std::string& name, uint64_t at) {
    std::memcpy(memory_ + kText + text, name.c_str(), name.size() + 1);
    symbols->st_name = text;
    symbols->st_value = at;
    ++symbols;
    text += static_cast<uint32_t>(name.size()) + 1;
  };
  for (size_t i = 0; i < names.size(); ++i) {
    add(names[i], kDescriptors + 0x1000 + i * 64);  // its code
    add(names[i] + ".kd", kDescriptors + i * 64);
  }
}

uint64_t CodeObject::kernel(size_t i) const {
  return reinterpret_cast<uint64_t>(memory_) + kDescriptors + i * 64;
}

KernelDescriptor& CodeObject::descriptor(size_t i) const {
  return *reinterpret_cast<KernelDescriptor*>(kernel(i));
}

AqlPacket dispatch_packet(uint64_t kernel_object, AmdSignal* completion, const void* kernarg) {
  AqlPacket packet{};
  AqlDispatch& dispatch = packet.dispatch;
  dispatch.header = kAqlDispatch;
  dispatch.setup = 1;
  dispatch.group[0] = 64;
  dispatch.group[1] = dispatch.group[2] = 1;
  dispatch.grid[0] = 256;
  dispatch.grid[1] = dispatch.grid[2] = 1;
  dispatch.kernel_object = kernel_object;
  dispatch.kernarg = reinterpret_cast<uint64_t>(kernarg);
  dispatch.completion = completion ? handle(*completion) : 0;
  return packet;
}

AqlPacket barrier_packet(AqlType type, std::vector<AmdSignal*> dep, AmdSignal* completion) {
  AqlPacket packet{};
  packet.barrier.header = type;
  for (size_t i = 0; i < dep.size(); ++i) packet.barrier.dep[i] = dep[i] ? handle(*dep[i]) : 0;
  packet.barrier.completion = completion ? handle(*completion) : 0;
  return packet;
}

Config one_gpu() {
  Config config;
  config.gpus.resize(1);
  config.gpus[0].model = "gfx90a";
  config.gpus[0].clock.offset_ticks = 1'000'000'000'000;
  return config;
}

LogFile::LogFile() {
  char path[] = "/tmp/softgpu_device_test_XXXXXX";
  close(mkstemp(path));
  path_ = path;
}

LogFile::~LogFile() { unlink(path_.c_str()); }

std::vector<nlohmann::json> LogFile::lines(const std::string& line) const {
  std::vector<nlohmann::json> all;
  std::ifstream in(path_);
  for (std::string text; std::getline(in, text);) {
    auto parsed = nlohmann::json::parse(text);
    if (line.empty() || parsed["line"] == line) all.push_back(std::move(parsed));
  }
  return all;
}

}  // namespace softgpu::testing

// The test Executor.
namespace softgpu {

struct Executor::Impl {};
Executor::Executor(int) {}
Executor::~Executor() = default;

bool Executor::knows(std::string_view kernel) const {
  std::lock_guard lock(testing::kernels_mutex);
  return testing::kernels.contains(kernel);
}

bool Executor::watches_memory(std::string_view) const { return false; }

Outcome Executor::run(std::string_view kernel, const Dispatch& dispatch) {
  testing::Kernel code;
  {
    std::lock_guard lock(testing::kernels_mutex);
    auto found = testing::kernels.find(kernel);
    if (found == testing::kernels.end()) return {Outcome::kNoCode};
    code = found->second;
  }
  return code(dispatch);
}

Outcome Executor::run(GroupCode&, const Dispatch&) { return {Outcome::kNoCode}; }

}  // namespace softgpu
