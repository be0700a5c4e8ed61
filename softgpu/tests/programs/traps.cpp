// traps CODE_OBJECT KERNEL [SECONDS]: runs a kernel that may trap on one queue of a GPU, then one
// that may not on another queue, and prints what the owner of each queue is told. ROCr does not end
// the program at a queue error; HIP does. With SECONDS it runs the first kernel alone and stays
// alive for a debugger.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "hsa/hsa_machine.h"

namespace {

struct Lane {
  hsa_queue_t* queue = nullptr;
  std::atomic<unsigned> error{0};
};

struct Runner {
  const Code& code;
  uint32_t* result;  // of 64 work items
  void* arguments;

  void open(Lane& lane) {
    const auto note = [](hsa_status_t status, hsa_queue_t*, void* to) {
      static_cast<Lane*>(to)->error = static_cast<unsigned>(status);
    };
    MUST(hsa_queue_create(code.gpu, 64, HSA_QUEUE_TYPE_SINGLE, note, &lane, 0, 0, &lane.queue));
  }
  // Waits until it has completed, or its queue has an error, for at most a second.
  void run(Lane& lane, const std::string& name) {
    hsa_kernel_dispatch_packet_t packet{};
    packet.workgroup_size_x = packet.grid_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernarg_address = arguments;
    packet.kernel_object = code.kernel(name + ".kd");
    MUST(hsa_signal_create(1, 0, nullptr, &packet.completion_signal));
    std::memset(result, 0, 64 * sizeof(*result));
    put(lane.queue, packet, HSA_PACKET_TYPE_KERNEL_DISPATCH | kFences, 1);
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  MUST(hsa_init());
  const Machine machine = find_machine();
  const Code code(machine.gpu, argv[1]);
  void* memory = nullptr;
  MUST(hsa_amd_memory_pool_allocate(machine.host, 8192, 0, &memory));
  MUST(hsa_amd_agents_allow_access(1, &machine.gpu, nullptr, memory));
  Runner runner{code, static_cast<uint32_t*>(memory), static_cast<uint32_t*>(memory) + 1024};
  std::memcpy(runner.arguments, &runner.result, sizeof(runner.result));
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
