// pc_sampling CODE_OBJECT: samples program counters through ROCr's own extension while a kernel of
// two loops (code/two_loops.hip) runs, until there are enough, and prints the samples and the
// values to compare them with; then runs the kernel without an active sampling session, and then
// with it again. Exit status 77 if ROCr has no such extension, or the GPU does not offer it.
//
// The used part of the extension (hsa_ven_amd_pc_sampling.h, ROCr 6.3 and later) is declared here,
// since the program is also built where the header is missing.
#include <dlfcn.h>
#include <elf.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

namespace {

struct Sample {
  uint64_t pc, exec;
  uint32_t group[3];
  uint32_t wave : 6, chiplet : 3, reserved : 23;
  uint32_t place, reserved0;
  uint64_t reserved1, timestamp, correlation;
};
static_assert(sizeof(Sample) == 64);
struct Offer {
  uint32_t method, unit;
  size_t least, most;
  uint64_t flags;
};
using Copy = hsa_status_t (*)(void* hsa, size_t bytes, void* to);
using Ready = void (*)(void* data, size_t bytes, size_t lost, Copy copy, void* hsa);
struct Handle {
  uint64_t value;
};
struct Extension {
  hsa_status_t (*iterate)(hsa_agent_t, hsa_status_t (*)(const Offer*, void*), void*);
  hsa_status_t (*create)(hsa_agent_t, uint32_t method, uint32_t unit, size_t interval,
                         size_t latency, size_t bytes, Ready, void* data, Handle*);
  hsa_status_t (*start)(Handle);
  hsa_status_t (*stop)(Handle);
  hsa_status_t (*flush)(Handle);
  hsa_status_t (*destroy)(Handle);
};
constexpr uint32_t kHostTrap = 0, kMicroseconds = 0;
constexpr uint32_t kRounds = 100'000, kWidth = 256, kHeight = 2, kGroup = 128;
constexpr size_t kEnough = 1000, kBufferSamples = 1024;
constexpr size_t kIntervalUs = 200;

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  std::printf("%s: status %#x\n", what, static_cast<unsigned>(status));
  std::exit(1);
}
[[noreturn]] void skip(const char* why) {
  std::printf("skipped: %s\n", why);
  std::exit(77);
}

Extension find_extension() {
  Extension found{};
  const auto find = [](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(RTLD_DEFAULT, (std::string("hsa_ven_amd_pcs_") + name).c_str()));
    if (function == nullptr) skip("this ROCr has no hsa_ven_amd_pc_sampling");
  };
  find(found.iterate, "iterate_configuration");
  find(found.create, "create");
  find(found.start, "start");
  find(found.stop, "stop");
  find(found.flush, "flush");
  find(found.destroy, "destroy");
  return found;
}

struct Samples {
  std::mutex mutex;
  std::vector<Sample> all;
  size_t lost = 0;
  size_t count() {
    std::lock_guard lock(mutex);
    return all.size();
  }
  static void take(void* data, size_t bytes, size_t lost, Copy copy, void* hsa) {
    auto& self = *static_cast<Samples*>(data);
    std::vector<Sample> more(bytes / sizeof(Sample));
    check(copy(hsa, bytes, more.data()), "copy");
    std::lock_guard lock(self.mutex);
    self.all.insert(self.all.end(), more.begin(), more.end());
    self.lost += lost;
  }
};

hsa_agent_t gpu{};
hsa_amd_memory_pool_t memory{};

void find_places() {
  hsa_agent_t cpu{};
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* to) {
        hsa_device_type_t type{};
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        (type == HSA_DEVICE_TYPE_GPU ? gpu : *static_cast<hsa_agent_t*>(to)) = agent;
        return HSA_STATUS_SUCCESS;
      },
      &cpu);
  hsa_amd_agent_iterate_memory_pools(
      cpu,
      [](hsa_amd_memory_pool_t pool, void*) {
        uint32_t flags = 0;
        hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
        if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) memory = pool;
        return HSA_STATUS_SUCCESS;
      },
      nullptr);
}

void* allocate(size_t bytes) {
  void* made = nullptr;
  check(hsa_amd_memory_pool_allocate(memory, bytes, 0, &made), "memory");
  check(hsa_amd_agents_allow_access(1, &gpu, nullptr, made), "access");
  std::memset(made, 0, bytes);
  return made;
}

// The size of the kernel's code, from its symbol in the code object.
uint64_t code_bytes(const std::vector<char>& object, const char* name) {
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(object.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(object.data() + header.e_shoff);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const char* names = object.data() + sections[sections[i].sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(object.data() + sections[i].sh_offset);
    for (size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s) {
      if (std::strcmp(names + symbols[s].st_name, name) == 0) return symbols[s].st_size;
    }
  }
  return 0;
}

struct Launcher {
  hsa_queue_t* queue = nullptr;
  hsa_kernel_dispatch_packet_t packet{};
  uint32_t* result = nullptr;

  void load(std::vector<char>& object) {
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    check(hsa_code_object_reader_create_from_memory(object.data(), object.size(), &reader),
          "reader");
    check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                    nullptr, &executable),
          "executable");
    check(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr), "load");
    check(hsa_executable_freeze(executable, nullptr), "freeze");
    hsa_executable_symbol_t symbol{};
    check(hsa_executable_get_symbol_by_name(executable, "two_loops.kd", &gpu, &symbol), "kernel");
    check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                         &packet.kernel_object),
          "object");
    check(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, 0, 0, &queue),
          "queue");
    check(hsa_signal_create(1, 0, nullptr, &packet.completion_signal), "signal");
    result = static_cast<uint32_t*>(allocate(kWidth * kHeight * sizeof(uint32_t)));
    struct Arguments {
      uint32_t* result;
      uint32_t rounds;
    };
    packet.kernarg_address = allocate(256);
    *static_cast<Arguments*>(packet.kernarg_address) = {result, kRounds};
    packet.setup = 2;
    packet.workgroup_size_x = kGroup;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = kWidth;
    packet.grid_size_y = kHeight;
    packet.grid_size_z = 1;
  }
  void run() {
    hsa_signal_store_relaxed(packet.completion_signal, 1);
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    auto* slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index % 64;
    std::memcpy(reinterpret_cast<char*>(slot) + 4, reinterpret_cast<char*>(&packet) + 4, 60);
    constexpr uint32_t kSystem = HSA_FENCE_SCOPE_SYSTEM;
    const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH |
                            kSystem << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                            kSystem << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    __atomic_store_n(reinterpret_cast<uint32_t*>(slot), header | uint32_t{packet.setup} << 16,
                     __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    hsa_signal_wait_scacquire(packet.completion_signal, HSA_SIGNAL_CONDITION_LT, 1, ~uint64_t{0},
                              HSA_WAIT_STATE_BLOCKED);
  }
  bool is_right() const {
    for (uint32_t item = 0; item < kWidth * kHeight; ++item) {
      uint32_t value = item;
      for (uint32_t i = 0; i < kRounds; ++i) value = value * 1664525 + 1013904223;
      if (item & 1) {
        for (uint32_t i = 0; i < kRounds; ++i) value = (value ^ value >> 3) + i;
      }
      if (result[item] != value) return false;
    }
    return true;
  }
};

// Samples until there are that many more.
int sample(const Extension& pcs, Handle handle, Launcher& launcher, Samples& samples,
           size_t enough) {
  const auto begin = std::chrono::steady_clock::now();
  const size_t before = samples.count();
  int dispatches = 0;
  while (samples.count() - before < enough &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(90)) {
    launcher.run();
    ++dispatches;
    check(pcs.flush(handle), "flush");
  }
  return dispatches;
}

// Only one session: ROCr 6.4 does not reset which of its two buffers is in use, so a flush of a
// second session may wait forever.
void session(const Extension& pcs, Launcher& launcher) {
  Samples samples;
  Handle handle{};
  check(pcs.create(gpu, kHostTrap, kMicroseconds, kIntervalUs, 0, kBufferSamples * sizeof(Sample),
                   Samples::take, &samples, &handle),
        "create");
  check(pcs.start(handle), "start");
  int dispatches = sample(pcs, handle, launcher, samples, kEnough);
  check(pcs.stop(handle), "stop");
  check(pcs.flush(handle), "flush");
  const size_t before = samples.count();
  launcher.run();  // no samples are taken of this one
  check(pcs.flush(handle), "flush");
  const size_t stopped = samples.count();
  check(pcs.start(handle), "start");
  dispatches += 1 + sample(pcs, handle, launcher, samples, 1);
  check(pcs.stop(handle), "stop");
  std::printf("dispatches %d lost %zu after_stop %zu after_start %zu result %s\n", dispatches,
              samples.lost, stopped - before, samples.count() - stopped,
              launcher.is_right() ? "right" : "wrong");
  for (const Sample& s : samples.all) {
    std::printf("sample %" PRIx64 " %" PRIx64 " %u %u %u %u %" PRIx64 " %" PRIu64 "\n", s.pc,
                s.exec, s.group[0], s.group[1], s.group[2], s.wave, s.correlation, s.timestamp);
  }
  check(pcs.destroy(handle), "destroy");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  check(hsa_init(), "hsa_init");
  const Extension pcs = find_extension();
  find_places();
  bool is_offered = false;
  pcs.iterate(
      gpu,
      [](const Offer* offer, void* to) {
        std::printf("offer method %u unit %u least %zu\n", offer->method, offer->unit,
                    offer->least);
        *static_cast<bool*>(to) |= offer->method == kHostTrap && offer->unit == kMicroseconds;
        return HSA_STATUS_SUCCESS;
      },
      &is_offered);
  if (!is_offered) skip("no host traps by time on this GPU");
  std::ifstream file(argv[1], std::ios::binary);
  std::vector<char> object((std::istreambuf_iterator<char>(file)), {});
  Launcher launcher;
  launcher.load(object);
  const auto* descriptor = reinterpret_cast<const char*>(launcher.packet.kernel_object);
  int64_t offset = 0;
  std::memcpy(&offset, descriptor + 16, sizeof(offset));
  const uint64_t entry = launcher.packet.kernel_object + static_cast<uint64_t>(offset);
  std::printf("code %" PRIx64 " %" PRIx64 "\n", entry, entry + code_bytes(object, "two_loops"));
  session(pcs, launcher);
  hsa_queue_destroy(launcher.queue);
  hsa_shut_down();
  return 0;
}
