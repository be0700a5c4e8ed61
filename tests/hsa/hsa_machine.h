// What programs of HSA alone share: the first CPU and GPU with their memory, the code of their
// kernels, and packets and signals. A call that fails ends the program with 1.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fstream>
#include <iterator>
#include <string>

[[noreturn]] inline void fail(const char* what, const char* file, int line) {
  fprintf(stderr, "%s: line %d: %s\n", file, line, what);
  exit(1);
}
#define MUST(call) \
  if ((call) != HSA_STATUS_SUCCESS) fail(#call, __FILE__, __LINE__)

struct Machine {
  hsa_agent_t cpu, gpu;
  hsa_amd_memory_pool_t host, device;
};

inline hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void* found) {
  hsa_amd_segment_t segment;
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_amd_memory_pool_t*>(found) = pool;
  return HSA_STATUS_INFO_BREAK;
}

inline hsa_status_t find_agent(hsa_agent_t agent, void* data) {
  auto* machine = static_cast<Machine*>(data);
  hsa_device_type_t type;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  const bool gpu = type == HSA_DEVICE_TYPE_GPU;
  hsa_agent_t& place = gpu ? machine->gpu : machine->cpu;
  if (place.handle != 0) return HSA_STATUS_SUCCESS;
  place = agent;
  hsa_amd_agent_iterate_memory_pools(agent, find_pool, gpu ? &machine->device : &machine->host);
  return HSA_STATUS_SUCCESS;
}

inline Machine find_machine() {
  Machine machine = {};
  MUST(hsa_iterate_agents(find_agent, &machine));
  return machine;
}

inline void wait_for(hsa_signal_t signal) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0) {
  }
}

// Loads a file of kernels, whose bytes a debugger reads.
struct Code {
  Code(hsa_agent_t agent, const char* path) : gpu(agent) {
    std::ifstream stream(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(stream), {});
    MUST(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader));
    MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                   nullptr, &executable));
    MUST(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
    MUST(hsa_executable_freeze(executable, nullptr));
  }
  ~Code() {
    hsa_executable_destroy(executable);
    hsa_code_object_reader_destroy(reader);
  }
  template <typename T = uint64_t>
  T kernel(const std::string& name,
           hsa_executable_symbol_info_t what = HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT) const {
    hsa_executable_symbol_t symbol;
    T value = 0;
    MUST(hsa_executable_get_symbol_by_name(executable, name.c_str(), &gpu, &symbol));
    MUST(hsa_executable_symbol_get_info(symbol, what, &value));
    return value;
  }
  hsa_agent_t gpu;
  std::string bytes;
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
};

// For a packet that sees what the host has written, and whose results the host sees.
constexpr uint16_t kFences = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                             HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

// The header is written last: it makes the packet valid. `rings`: tells the GPU of it.
template <typename Packet>
void put(hsa_queue_t* queue, Packet packet, uint16_t type, uint16_t setup, bool rings = true) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
  }
  char* place = static_cast<char*>(queue->base_address) + index % queue->size * sizeof packet;
  memcpy(place + 4, reinterpret_cast<char*>(&packet) + 4, sizeof packet - 4);
  const uint32_t head = type | 1u << HSA_PACKET_HEADER_BARRIER | uint32_t{setup} << 16;
  __atomic_store_n(reinterpret_cast<uint32_t*>(place), head, __ATOMIC_RELEASE);
  if (!rings) return;
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}
