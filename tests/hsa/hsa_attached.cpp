// A program of HSA alone that is attached to while it runs. Each of two threads adds to numbers on
// the GPU, copies them back and compares: the first with one queue all the time, the second with
// new ones, which it fills to the last packet behind a barrier before it lets them go. At the end
// of its standard input it prints "1 interrupted=0 wrong=N".
#include <unistd.h>

#include <atomic>
#include <thread>

#include "hsa_machine.h"

namespace {

constexpr uint32_t kItems = 64, kPackets = 64;
constexpr int kStepsOfAQueue = 20;
constexpr size_t kBytes = 4096;

std::atomic<bool> ended;
std::atomic<unsigned> wrong;
std::atomic<int> at_work;

Machine g_machine;
uint64_t g_kernel;

void* allocate(hsa_amd_memory_pool_t pool) {
  void* memory;
  MUST(hsa_amd_memory_pool_allocate(pool, kBytes, 0, &memory));
  MUST(hsa_amd_agents_allow_access(1, &g_machine.gpu, nullptr, memory));
  return memory;
}

struct Worker {
  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{}, gate{}, copied{};
  int* device = static_cast<int*>(allocate(g_machine.device));
  int* host = static_cast<int*>(allocate(g_machine.host));
  struct Arguments {
    int* data;
    int by;
  }* arguments = static_cast<Arguments*>(allocate(g_machine.host));
  int sum = 0;

  Worker() {
    for (hsa_signal_t* signal : {&done, &gate, &copied}) {
      MUST(hsa_signal_create(0, 0, nullptr, signal));
    }
    memset(arguments, 0, kBytes);
    memset(host, 0, kBytes);
    copy(device, g_machine.gpu, host, g_machine.cpu);
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
    MUST(hsa_queue_create(g_machine.gpu, kPackets, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr,
                          UINT32_MAX, UINT32_MAX, &queue));
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
    copy(host, g_machine.cpu, device, g_machine.gpu);
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

void work_until_told() {
  g_machine = find_machine();
  const Code code(g_machine.gpu, HSA_OPS_KERNELS);
  g_kernel = code.kernel("hsa_add.kd");
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
}

}  // namespace

int main() {
  MUST(hsa_init());
  work_until_told();
  MUST(hsa_shut_down());
  printf("1 interrupted=0 wrong=%u\n", wrong.load());
  return 0;
}
