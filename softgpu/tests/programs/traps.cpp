// traps CODE_OBJECT KERNEL [SECONDS]: runs a kernel that may trap on one queue of a GPU, then one
// that may not on another queue, and prints what the owner of each queue is told. ROCr does not end
// the program at a queue error; HIP does. With SECONDS it runs the first kernel alone and stays
// alive for a debugger.
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  std::printf("%s: status %#x\n", what, static_cast<unsigned>(status));
  std::exit(1);
}

struct Lane {
  hsa_queue_t* queue = nullptr;
  std::atomic<unsigned> error{0};
};

struct Runner {
  hsa_agent_t gpu{};
  hsa_executable_t executable{};
  uint32_t* result = nullptr;  // of 64 work items
  void* arguments = nullptr;

  void open(Lane& lane) {
    check(hsa_queue_create(
              gpu, 64, HSA_QUEUE_TYPE_SINGLE,
              [](hsa_status_t status, hsa_queue_t*, void* to) {
                static_cast<Lane*>(to)->error = static_cast<unsigned>(status);
              },
              &lane, 0, 0, &lane.queue),
          "queue");
  }
  // Waits until it has completed, or its queue has an error, for at most a second.
  void run(Lane& lane, const std::string& name) {
    hsa_executable_symbol_t symbol{};
    check(hsa_executable_get_symbol_by_name(executable, (name + ".kd").c_str(), &gpu, &symbol),
          "kernel");
    hsa_kernel_dispatch_packet_t packet{};
    packet.setup = 1;
    packet.workgroup_size_x = packet.grid_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernarg_address = arguments;
    check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                         &packet.kernel_object),
          "kernel object");
    check(hsa_signal_create(1, 0, nullptr, &packet.completion_signal), "signal");
    std::memset(result, 0, 64 * sizeof(*result));
    const uint64_t index = hsa_queue_add_write_index_screlease(lane.queue, 1);
    auto* slot = static_cast<hsa_kernel_dispatch_packet_t*>(lane.queue->base_address) + index % 64;
    packet.header = HSA_PACKET_TYPE_INVALID;
    *slot = packet;
    constexpr uint16_t kHeader = HSA_PACKET_TYPE_KERNEL_DISPATCH |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    __atomic_store_n(&slot->header, kHeader, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(lane.queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (hsa_signal_load_scacquire(packet.completion_signal) != 0 && lane.error == 0 &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const bool has_ended = hsa_signal_load_scacquire(packet.completion_signal) == 0;
    std::printf("%s: %s, error %#x, result %u\n", name.c_str(),
                has_ended ? "completed" : "not completed", lane.error.load(), result[63]);
  }
};

hsa_status_t find_gpu(hsa_agent_t agent, void* out) {
  hsa_device_type_t type{};
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_agent_t*>(out) = agent;
  return HSA_STATUS_INFO_BREAK;
}
hsa_status_t find_host_memory(hsa_agent_t agent, void* out) {
  hsa_device_type_t type{};
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_CPU) return HSA_STATUS_SUCCESS;
  return hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void* found) {
        *static_cast<hsa_amd_memory_pool_t*>(found) = pool;
        return HSA_STATUS_INFO_BREAK;
      },
      out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::vector<char> code((std::istreambuf_iterator<char>(in)), {});
  check(hsa_init(), "HSA");
  Runner runner;
  hsa_iterate_agents(find_gpu, &runner.gpu);
  hsa_amd_memory_pool_t pool{};
  hsa_iterate_agents(find_host_memory, &pool);
  void* memory = nullptr;
  check(hsa_amd_memory_pool_allocate(pool, 8192, 0, &memory), "memory");
  check(hsa_amd_agents_allow_access(1, &runner.gpu, nullptr, memory), "access");
  runner.result = static_cast<uint32_t*>(memory);
  runner.arguments = runner.result + 1024;
  std::memcpy(runner.arguments, &runner.result, sizeof(runner.result));
  hsa_code_object_reader_t reader{};
  check(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader), "reader");
  check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                  nullptr, &runner.executable),
        "executable");
  check(hsa_executable_load_agent_code_object(runner.executable, runner.gpu, reader, nullptr,
                                              nullptr),
        "code object");
  check(hsa_executable_freeze(runner.executable, nullptr), "freeze");
  Lane first, second;
  runner.open(first);
  runner.open(second);
  runner.run(first, argv[2]);
  // ROCr 5.2 and 6.1 both report version 1.1.
  const bool has_debugger = dlsym(RTLD_DEFAULT, "hsa_amd_portable_export_dmabuf") != nullptr;
  if (argc == 3) runner.run(second, has_debugger ? "passes3" : "passes1");
  std::fflush(stdout);
  if (argc == 4) std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(argv[3])));
  return 0;
}
