#include "driver/driver.h"

#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/time.h"
#include "driver/hooks.h"
#include "driver/kfd_abi.h"
#include "driver/log.h"
#include "driver/save_area_memory.h"
#include "driver/wave_saver.h"
#include "tree/layout.h"
#include "tree/writer.h"

namespace softgpu {
namespace {

constexpr uint32_t kQueuesPerGpu = Memory::kDoorbellBytes / 8;
// As in AMD's driver: host traps on gfx90a; and here only for machine code.
bool is_sampled(const Config& config, const GpuConfig& gpu) {
  return gpu.model == "gfx90a" &&
         (config.engine == EngineChoice::kAuto || config.engine == EngineChoice::kIsa);
}

constexpr auto kReportPeriod = std::chrono::milliseconds(250);

std::mutex& make_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
std::atomic<Driver*> current{nullptr};

std::string process_name() {
  std::string name;
  std::ifstream("/proc/self/comm") >> name;
  return name;
}

std::string process_folder() { return std::string(kProcesses) + "/" + std::to_string(getpid()); }

}  // namespace

Driver* Driver::get() { return current.load(std::memory_order_acquire); }

void Driver::forget() { current.store(nullptr); }

Driver* Driver::get_or_make() {
  if (Driver* driver = get()) return driver;
  std::lock_guard lock(make_mutex());
  if (Driver* driver = get()) return driver;
  const int low = memfd_create("softgpu", MFD_CLOEXEC);
  if (low < 0) return nullptr;
  const int file = keep_away(low);
  if (ftruncate(file, Memory::kFileBytes) != 0) return nullptr;
  Environment& environment = Environment::get();
  Doorbells doorbells{};
  for (uint32_t gpu = 0; gpu < environment.config().gpus.size(); ++gpu) {
    void* at = ::mmap(nullptr, Memory::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                      static_cast<off_t>(doorbell_offset(gpu)));
    if (at == MAP_FAILED) return nullptr;
    doorbells[gpu] = static_cast<std::atomic<uint64_t>*>(at);
  }
  auto* driver = new Driver(environment, file, doorbells);
  current.store(driver, std::memory_order_release);
  return driver;
}

Driver::Driver(Environment& environment, int file, const Doorbells& doorbells)
    : config_(environment.config()),
      session_(environment.session()),
      file_(file),
      doorbells_(doorbells),
      quarantine_(config_.check_memory ? std::make_unique<Quarantine>([this](uint64_t address) {
        return mapping_at(address);
      })
                                       : nullptr),
      memory_(config_, session_, file) {
  for (size_t gpu = 0; gpu < config_.gpus.size(); ++gpu)
    pc_sampling_.at(gpu) = std::make_unique<PcSampling>(is_sampled(config_, config_.gpus[gpu]));
  svm_.on_migration([this](const Svm::Migration& migration) { tell_of_migration(migration); });
  if (session_.join()) {
    keep_open(session_.lock_fd());
    show_process();
  } else {
    log(1, "the session's table of processes cannot be used: sysfs does not show this one");
  }
}

void Driver::show_process() {
  TreeWriter tree(config_.tree);
  const std::string folder = process_folder();
  tree.file(folder + "/pasid", std::to_string(0x8000 + getpid() % 0x1000) + "\n");
  tree.folder(folder + "/queues");
  for (uint32_t gpu = 0; gpu < config_.gpus.size(); ++gpu) {
    const std::string id = std::to_string(gpu_id(gpu));
    tree.file(folder + "/vram_" + id, "0\n");
    tree.file(folder + "/sdma_" + id, "0\n");
    tree.file(folder + "/stats_" + id + "/cu_occupancy", "0\n");
    tree.file(folder + "/stats_" + id + "/evicted_ms", "0\n");
  }
}

void hide_process() {
  if (Driver::get() == nullptr) return;
  std::error_code ignored;
  std::filesystem::remove_all(Environment::get().tree() + process_folder(), ignored);
  std::filesystem::remove(Environment::get().tree() + "/debug/" + std::to_string(getpid()),
                          ignored);
}

void Driver::show_queue(uint32_t id, const kfd_ioctl_create_queue_args& request) {
  TreeWriter tree(config_.tree);
  const std::string folder = process_folder() + "/queues/" + std::to_string(id);
  tree.file(folder + "/gpuid", std::to_string(request.gpu_id) + "\n");
  tree.file(folder + "/size", std::to_string(request.ring_size) + "\n");
  tree.file(folder + "/type", std::to_string(request.queue_type) + "\n");
}

// Only while no queue runs code that relies on the other mode.
int Driver::set_xnack(bool on) {
  std::lock_guard lock(queues_mutex_);
  if (on == svm_.xnack()) return 0;
  if (on && !svm_.can_retry()) return EPERM;
  if (!queues_.empty()) return EBUSY;
  svm_.set_xnack(on);
  return 0;
}

void Driver::tell_of_migration(const Svm::Migration& m) {
  const uint32_t on = m.to != 0 ? m.to : m.from;
  const uint32_t gpu = gpu_of_id(on, config_.gpus.size()).value_or(0);
  constexpr int kPrefetch = 0;  // the trigger
  const auto line = [&](const char* places) {
    char text[96];
    std::snprintf(text, sizeof text, "%" PRId64 " -%d @%llx(%llx) %x->%x%s %d",
                  sonde::clock_ns(CLOCK_BOOTTIME), getpid(),
                  static_cast<unsigned long long>(m.start >> 12),
                  static_cast<unsigned long long>(m.bytes >> 12), m.from, m.to, places, kPrefetch);
    return std::string(text);
  };
  char places[32];
  std::snprintf(places, sizeof places, " %x:%x", m.prefetch, m.preferred);
  smi_.tell_own(gpu, SmiEvent::kMigrationBegins, line(places));
  smi_.tell_own(gpu, SmiEvent::kMigrationEnds, line(""));
}

// The runtime announces itself, before its first queue, or leaves; a debugger is notified and lets
// it continue.
int Driver::enable_runtime(uint64_t r_debug, uint32_t mode) {
  const bool enable = (mode & kfd::kRuntimeEnabled) != 0;
  DebugState* debug = debug_;
  {
    std::lock_guard lock(queues_mutex_);
    if (debug == nullptr) debug = DebugState::own(config_.tree).release();
    if (debug == nullptr) return EINVAL;
    debug_ = debug;
    if (enable && (*debug)->runtime_state != 0) return EBUSY;
    if (enable && !queues_.empty()) return EEXIST;
    (*debug)->r_debug = enable ? r_debug : 0;
    (*debug)->saves_ttmps = (mode & kfd::kRuntimeSavesTtmps) != 0 ? 1 : 0;
    (*debug)->runtime_state = enable ? 1 : 0;
  }
  if (debug->is_debugged()) debug->wait_for_debugger();
  return 0;
}

int Driver::create_queue(kfd_ioctl_create_queue_args& request) {
  const auto gpu = gpu_of_id(request.gpu_id, config_.gpus.size());
  if (!gpu) return EINVAL;
  QueueSpec spec{.gpu = *gpu,
                 .ring = request.ring_base_address,
                 .ring_bytes = request.ring_size,
                 .read_pointer = request.read_pointer_address,
                 .write_pointer = request.write_pointer_address};
  switch (request.queue_type) {
    case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
      spec.kind = QueueKind::kAql;
      break;
    case KFD_IOC_QUEUE_TYPE_SDMA:
      spec.kind = QueueKind::kSdma;
      break;
    case KFD_IOC_QUEUE_TYPE_SDMA_XGMI:
      spec.kind = QueueKind::kSdmaXgmi;
      break;
    case kfd::kQueueSdmaByEngine:  // all engines are alike
      if (config_.kfd_minor < kfd::kSinceSdmaByEngine) return EINVAL;
      spec.kind = QueueKind::kSdma;
      break;
    default:
      log(1, "queues of type %u (PM4) are not emulated", request.queue_type);
      return EINVAL;
  }
  std::lock_guard lock(queues_mutex_);
  while (queues_.contains(spec.id)) ++spec.id;
  if (spec.id >= kQueuesPerGpu) return ENOSPC;
  std::atomic<uint64_t>* doorbell = doorbells_[*gpu] + spec.id;
  // An AQL doorbell holds the index of the last packet, an SDMA one the bytes written so far.
  doorbell->store(spec.kind == QueueKind::kAql ? ~uint64_t{0} : 0);
  spec.doorbell = reinterpret_cast<uint64_t>(doorbell);
  request.queue_id = spec.id;
  request.doorbell_offset = doorbell_offset(*gpu) + spec.id * sizeof(*doorbell);
  if (!device_) {
    device_ = std::make_unique<Device>(config_, *this);
    report_load();
    if (DebugState* debug = debug_) {
      WaveSaver::start(*debug, *device_, [this](uint32_t queue, uint64_t exceptions) {
        tell_runtime(queue, exceptions);
      });
    }
  }
  queues_[spec.id] = *gpu;
  if (DebugState* debug = debug_) debug->add_queue(spec.id, request);
  device_->add_queue(spec);
  show_queue(spec.id, request);
  return 0;
}

int Driver::destroy_queue(uint32_t id) {
  {
    std::lock_guard lock(queues_mutex_);
    if (!queues_.contains(id)) return EINVAL;
  }
  if (DebugState* debug = debug_) debug->remove_queue(id);
  device_->remove_queue(id);
  // Only now may the id be reused.
  std::lock_guard lock(queues_mutex_);
  queues_.erase(id);
  std::error_code ignored;
  std::filesystem::remove_all(config_.tree + process_folder() + "/queues/" + std::to_string(id),
                              ignored);
  return 0;
}

int Driver::map_memory(uint64_t handle, uint32_t gpu) {
  if (const int error = memory_.map(handle, gpu)) return error;
  // libhsakmt maps a GPU's doorbells after creating the first queue there.
  const auto doorbells = memory_.doorbells(handle);
  std::lock_guard lock(queues_mutex_);
  if (doorbells && device_) {
    device_->doorbells_mapped(doorbells->gpu, doorbells->address, doorbells->bytes);
  }
  return 0;
}

// A thread that reports this process' load on the GPUs to the session. Signals are for the program.
void Driver::report_load() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] {
    pthread_setname_np(pthread_self(), "softgpu-load");
    for (;;) {
      for (uint32_t gpu = 0; gpu < config_.gpus.size(); ++gpu) {
        const Load load = device_->load(gpu);
        session_.set_busy(gpu, load.busy, load.memory_busy);
      }
      std::this_thread::sleep_for(kReportPeriod);
    }
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

const isa::Allocations* Driver::allocations() {
  return quarantine_ != nullptr ? &quarantine_->allocations() : nullptr;
}

isa::Mapping Driver::mapping_at(uint64_t address) const {
  const Memory::Around found = memory_.around(address);
  if (found.bytes != 0) return {found.address, found.address + found.bytes};
  // Shared virtual memory is tracked per page.
  constexpr uint64_t kPage = 4096;
  for (uint32_t gpu = 0; gpu < config_.gpus.size(); ++gpu) {
    if (svm_.is_mapped(gpu, address, 1))
      return {address / kPage * kPage, (address / kPage + 1) * kPage};
  }
  return {};
}

Host::TrapHandler Driver::trap_handler(uint32_t gpu) {
  std::lock_guard lock(traps_mutex_);
  return trap_handlers_.at(gpu);
}

bool Driver::queue_exception(uint32_t queue, uint64_t exceptions) {
  DebugState* debug = debug_.load(std::memory_order_acquire);
  if (debug == nullptr || (*debug)->runtime_state == 0) return false;
  if (!debug->raise_queue(queue, exceptions)) tell_runtime(queue, exceptions);
  return true;
}

void Driver::tell_runtime(uint32_t queue, uint64_t exceptions) {
  const DebugState& debug = *debug_.load(std::memory_order_acquire);
  const uint32_t event = add_exceptions(debug->queues[queue], exceptions);
  if (event != 0) events_.set(event);
}

bool Driver::set_trap_handler(uint32_t gpu, const TrapHandler& handler) {
  if (gpu >= config_.gpus.size()) return false;
  std::lock_guard lock(traps_mutex_);
  trap_handlers_.at(gpu) = handler;
  return true;
}

void Driver::memory_fault(uint32_t gpu, uint64_t address, MemoryFault reason) {
  log(2, "GPU %u: memory fault at %#llx", gpu, static_cast<unsigned long long>(address));
  kfd_hsa_memory_exception_data data{};
  data.gpu_id = gpu_id(gpu);
  data.va = address & ~uint64_t{4095};
  data.failure.NotPresent = reason == MemoryFault::kNotPresent;
  data.failure.ReadOnly = reason == MemoryFault::kReadOnly;
  data.failure.NoExecute = reason == MemoryFault::kNoExecute;
  if (reason == MemoryFault::kEcc) data.ErrorType = 1;  // SRAM, uncorrectable
  char who[80];
  std::snprintf(who, sizeof who, "%x:%s", getpid(), process_name().c_str());
  smi_.tell_all(gpu, SmiEvent::kMemoryFault, who);
  events_.memory_exception(data);
}

void Driver::hardware_fault(uint32_t gpu) {
  log(2, "GPU %u: hardware exception", gpu);
  kfd_hsa_hw_exception_data data{};
  data.reset_type = 1;  // of the whole GPU
  data.memory_lost = 1;
  data.gpu_id = gpu_id(gpu);
  smi_.tell_all(gpu, SmiEvent::kBeforeReset, "1");
  events_.hardware_exception(data);
  smi_.tell_all(gpu, SmiEvent::kAfterReset, "1");
}

}  // namespace softgpu
