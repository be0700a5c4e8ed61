// A program of HSA alone that is attached to while it runs. Each of two threads adds to numbers on
// the GPU, copies them back and compares: the first with one queue all the time, the second with
// new ones, which it fills to the last packet behind a barrier before it lets them go. At the end
// of its standard input it prints "1 interrupted=0 wrong=N".
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace {

constexpr uint32_t kItems = 64, kPackets = 64;
constexpr int kStepsOfAQueue = 20;
constexpr size_t kBytes = 4096;

std::atomic<bool> ended;
std::atomic<unsigned> wrong;
std::atomic<int> at_work;

#define MUST(call)                                                   \
  if ((call) != HSA_STATUS_SUCCESS) {                                \
    fprintf(stderr, "hsa_attached: line %d: %s\n", __LINE__, #call); \
    exit(1);                                                         \
  }

hsa_agent_t g_cpu, g_gpu;
hsa_amd_memory_pool_t g_host, g_device;
uint64_t g_kernel;

hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void* found) {
  hsa_amd_segment_t segment;
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_amd_memory_pool_t*>(found) = pool;
  return HSA_STATUS_INFO_BREAK;
}

hsa_status_t find_agent(hsa_agent_t agent, void*) {
  hsa_device_type_t type;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  const bool gpu = type == HSA_DEVICE_TYPE_GPU;
  hsa_agent_t& place = gpu ? g_gpu : g_cpu;
  if (place.handle != 0) return HSA_STATUS_SUCCESS;
  place = agent;
  hsa_amd_agent_iterate_memory_pools(agent, find_pool, gpu ? &g_device : &g_host);
  return HSA_STATUS_SUCCESS;
}

void load_kernel() {
  std::ifstream stream(HSA_OPS_KERNELS, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  hsa_executable_symbol_t symbol;
  MUST(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader));
  MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                 &executable));
  MUST(hsa_executable_load_agent_code_object(executable, g_gpu, reader, nullptr, nullptr));
  MUST(hsa_executable_freeze(executable, nullptr));
  MUST(hsa_executable_get_symbol_by_name(executable, "hsa_add.kd", &g_gpu, &symbol));
  MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &g_kernel));
  MUST(hsa_code_object_reader_destroy(reader));
}

void* allocate(hsa_amd_memory_pool_t pool) {
  void* memory;
  MUST(hsa_amd_memory_pool_allocate(pool, kBytes, 0, &memory));
  MUST(hsa_amd_agents_allow_access(1, &g_gpu, nullptr, memory));
  return memory;
}

template <typename Packet>
void put(hsa_queue_t* queue, Packet packet, uint16_t type, uint16_t setup) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
  }
  char* place = static_cast<char*>(queue->base_address) + index % queue->size * sizeof packet;
  memcpy(place + 4, reinterpret_cast<char*>(&packet) + 4, sizeof packet - 4);
  const uint32_t head = type | 1u << HSA_PACKET_HEADER_BARRIER | uint32_t{setup} << 16;
  __atomic_store_n(reinterpret_cast<uint32_t*>(place), head, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void wait_for(hsa_signal_t signal) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) > 0) {
  }
}

struct Worker {
  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{}, gate{}, copied{};
  int* device = static_cast<int*>(allocate(g_device));
  int* host = static_cast<int*>(allocate(g_host));
  struct Arguments {
    int* data;
    int by;
  }* arguments = static_cast<Arguments*>(allocate(g_host));
  int sum = 0;

  Worker() {
    for (hsa_signal_t* signal : {&done, &gate, &copied}) {
      MUST(hsa_signal_create(0, 0, nullptr, signal));
    }
    memset(arguments, 0, kBytes);
    memset(host, 0, kBytes);
    copy(device, g_gpu, host, g_cpu);
    make_queue();
  }
  ~Worker() {
    MUST(hsa_queue_destroy(queue));
    for (const hsa_signal_t signal : {done, gate, copied}) MUST(hsa_signal_destroy(signal));
    for (void* memory :
         {static_cast<void*>(device), static_cast<void*>(host), static_cast<void*>(arguments)}) {
      MUST(hsa_amd_memory_pool_free(memory));
    }
  }
  void make_queue() {
    MUST(hsa_queue_create(g_gpu, kPackets, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
                          UINT32_MAX, &queue));
  }
  void copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent) {
    hsa_signal_store_screlease(copied, 1);
    MUST(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, kItems * sizeof(int), 0, nullptr,
                                   copied));
    wait_for(copied);
  }
  void put_kernel(bool is_last) {
    hsa_kernel_dispatch_packet_t packet = {};
    packet.workgroup_size_x = kItems;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = kItems;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = g_kernel;
    packet.kernarg_address = arguments;
    if (is_last) packet.completion_signal = done;
    put(queue, packet, HSA_PACKET_TYPE_KERNEL_DISPATCH, 1);
  }
  // Behind a barrier that is opened when all are there.
  void add(int by, uint32_t times) {
    arguments->data = device;
    arguments->by = by;
    hsa_signal_store_screlease(done, 1);
    hsa_signal_store_screlease(gate, 1);
    hsa_barrier_and_packet_t barrier = {};
    barrier.dep_signal[0] = gate;
    if (times > 1) put(queue, barrier, HSA_PACKET_TYPE_BARRIER_AND, 0);
    for (uint32_t i = 0; i < times; ++i) put_kernel(i + 1 == times);
    hsa_signal_store_screlease(gate, 0);
    wait_for(done);
    sum += by * static_cast<int>(times);
    copy(host, g_cpu, device, g_gpu);
    for (uint32_t i = 0; i < kItems; ++i) wrong += host[i] != sum ? 1 : 0;
  }
};

void work(bool new_queues) {
  Worker worker;
  for (int step = 1; !ended; ++step) {
    worker.add(step % 100, new_queues ? kPackets - 1 : 1);
    if (new_queues && step % kStepsOfAQueue == 0) {
      MUST(hsa_queue_destroy(worker.queue));
      worker.make_queue();
    }
    if (step == 3) ++at_work;
    usleep(1000);
  }
}

}  // namespace

int main() {
  MUST(hsa_init());
  MUST(hsa_iterate_agents(find_agent, nullptr));
  load_kernel();
  std::thread first(work, false), second(work, true);
  while (at_work < 2) usleep(1000);
  puts("ready");
  fflush(stdout);
  char word;
  while (read(0, &word, 1) > 0) {
  }
  ended = true;
  first.join();
  second.join();
  MUST(hsa_shut_down());
  printf("1 interrupted=0 wrong=%u\n", wrong.load());
  return 0;
}
