// hold MIB [GPU]: allocates MIB of VRAM on a GPU, prints that it has, and keeps it until its input
// ends.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hsa/hsa_machine.h"

namespace {

std::vector<hsa_agent_t> find_gpus() {
  std::vector<hsa_agent_t> gpus;
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* list) {
        hsa_device_type_t type{};
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (type == HSA_DEVICE_TYPE_GPU)
          static_cast<std::vector<hsa_agent_t>*>(list)->push_back(agent);
        return HSA_STATUS_SUCCESS;
      },
      &gpus);
  return gpus;
}

hsa_amd_memory_pool_t find_vram(hsa_agent_t gpu) {
  hsa_amd_memory_pool_t found{};
  hsa_amd_agent_iterate_memory_pools(gpu, find_pool, &found);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t bytes = static_cast<size_t>(argc > 1 ? std::atoi(argv[1]) : 1) << 20;
  const size_t index = argc > 2 ? static_cast<size_t>(std::atoi(argv[2])) : 0;
  if (hsa_init() != HSA_STATUS_SUCCESS) {
    std::puts("no HSA");
    return 1;
  }
  const auto gpus = find_gpus();
  std::printf("%zu GPUs\n", gpus.size());
  void* memory = nullptr;
  if (index >= gpus.size() || hsa_amd_memory_pool_allocate(find_vram(gpus[index]), bytes, 0,
                                                           &memory) != HSA_STATUS_SUCCESS) {
    std::puts("no memory");
    return 2;
  }
  std::printf("holding %zu bytes, pid %d\n", bytes, static_cast<int>(getpid()));
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  hsa_amd_memory_pool_free(memory);
  return hsa_shut_down() == HSA_STATUS_SUCCESS ? 0 : 3;
}
