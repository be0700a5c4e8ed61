// hsa_ops: a program of HSA alone. Does one kind of work, gives everything back, and prints how
// often it called what, as JSON. A failure ends it with 1.
//
//   hsa_ops dispatches COUNT SIZE SIGNALS [once]   queues so many kernels behind a barrier that the
//                                           host releases when all are there; SIGNALS: one for the
//                                           "last", a "counting" one for all, or one for "each";
//                                           once: the doorbell rings when all are there
//   hsa_ops abandons COUNT SIZE             the same, but destroys the queue without releasing
//   them, and
//                                           does 20 in another one
//   hsa_ops copies COUNT                    copies to the device, on it, and back, some of them
//   with
//                                           a signal that counts several
//   hsa_ops again                           starts and ends the runtime twice
//
// These never end, and print the ids of their queues before they wait:
//   hsa_ops deadlock                        barriers of two queues wait for each other
//   hsa_ops unset                           a barrier waits for a signal at 3 that is never set,
//                                           another queue for the kernel behind it
//   hsa_ops spins [undumpable]              a kernel with arguments runs for ever, another queue
//                                           waits for it; undumpable: other processes may not read
//                                           this one's memory
//   hsa_ops idle                            all is done, of barriers too, and the program sleeps
#include <sys/prctl.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "hsa_machine.h"

namespace {

std::map<std::string, long> calls;  // of those that Sonde records

#define COUNTED(name, ...) \
  ++calls[#name];          \
  MUST(name(__VA_ARGS__))

hsa_signal_t make_signal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  MUST(hsa_signal_create(value, 0, nullptr, &signal));
  return signal;
}

struct Kernels {
  explicit Kernels(hsa_agent_t gpu) : code(gpu, HSA_OPS_KERNELS) {
    ++calls["hsa_executable_freeze"];
  }
  Code code;
  uint64_t nothing = code.kernel("hsa_nothing.kd"), spin = code.kernel("hsa_spin.kd");
};

bool rings_once;

void put_barrier(hsa_queue_t* queue, hsa_signal_t wait_for, hsa_signal_t completion = {0}) {
  hsa_barrier_and_packet_t packet = {};
  packet.dep_signal[0] = wait_for;
  packet.completion_signal = completion;
  put(queue, packet, HSA_PACKET_TYPE_BARRIER_AND, 0, !rings_once);
}

void put_kernel(hsa_queue_t* queue, uint64_t kernel, uint32_t items, hsa_signal_t completion,
                void* arguments = nullptr) {
  hsa_kernel_dispatch_packet_t packet = {};
  packet.workgroup_size_x = 64;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = items;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = kernel;
  packet.completion_signal = completion;
  packet.kernarg_address = arguments;
  put(queue, packet, HSA_PACKET_TYPE_KERNEL_DISPATCH, 1, !rings_once);
}

void dispatches(int count, uint32_t size, const std::string& signals) {
  const Machine machine = find_machine();
  const Kernels kernels(machine.gpu);
  hsa_queue_t* queue;
  COUNTED(hsa_queue_create, machine.gpu, size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
          UINT32_MAX, &queue);
  std::vector<hsa_signal_t> made = {make_signal(1)};  // the first is the barrier's
  put_barrier(queue, made[0]);
  if (signals != "each") made.push_back(make_signal(signals == "counting" ? count : 1));
  for (int i = 0; i < count; ++i) {
    if (signals == "each") made.push_back(make_signal(1));
    const bool told = signals != "last" || i == count - 1;
    put_kernel(queue, kernels.nothing, 64u * (1 + static_cast<uint32_t>(i) % 3),
               told ? made.back() : hsa_signal_t{0});
  }
  if (rings_once) hsa_signal_store_screlease(queue->doorbell_signal, count);
  hsa_signal_store_screlease(made[0], 0);
  for (const hsa_signal_t signal : made) wait_for(signal);
  COUNTED(hsa_queue_destroy, queue);
  for (const hsa_signal_t signal : made) MUST(hsa_signal_destroy(signal));
}

void abandons(int count, uint32_t size) {
  const Machine machine = find_machine();
  const Kernels kernels(machine.gpu);
  hsa_queue_t* queue;
  COUNTED(hsa_queue_create, machine.gpu, size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
          UINT32_MAX, &queue);
  const hsa_signal_t never = make_signal(1);
  put_barrier(queue, never);
  for (int i = 0; i < count; ++i) put_kernel(queue, kernels.nothing, 64, {0});
  COUNTED(hsa_queue_destroy, queue);
  MUST(hsa_signal_destroy(never));
}

void* allocate(hsa_amd_memory_pool_t pool, size_t bytes, const Machine& machine) {
  void* memory;
  COUNTED(hsa_amd_memory_pool_allocate, pool, bytes, 0, &memory);
  MUST(hsa_amd_agents_allow_access(1, &machine.gpu, nullptr, memory));
  return memory;
}

// Host, device, device, host; each copy waits for the one before.
void copies(int count) {
  const Machine machine = find_machine();
  constexpr size_t kBytes = 64 << 10;
  void* from = allocate(machine.host, kBytes, machine);
  void* to = allocate(machine.host, kBytes, machine);
  void* near = allocate(machine.device, kBytes, machine);
  void* far = allocate(machine.device, kBytes, machine);
  for (int i = 0; i < count; ++i) {
    const size_t bytes = 1024 + static_cast<size_t>(i) % 32 * 1024;
    memset(from, i + 1, bytes);
    memset(to, 0, bytes);
    const hsa_signal_t there = make_signal(1);
    const hsa_signal_t rest = make_signal(2);  // counts the two copies behind
    const hsa_signal_t moved = make_signal(1);
    COUNTED(hsa_amd_memory_async_copy, near, machine.gpu, from, machine.cpu, bytes, 0, nullptr,
            there);
    COUNTED(hsa_amd_memory_async_copy, far, machine.gpu, near, machine.gpu, bytes, 1, &there,
            moved);
    COUNTED(hsa_amd_memory_async_copy, to, machine.cpu, far, machine.gpu, bytes, 1, &moved, rest);
    COUNTED(hsa_amd_memory_async_copy, from, machine.cpu, near, machine.gpu, bytes, 1, &moved,
            rest);
    wait_for(rest);
    if (memcmp(from, to, bytes) != 0 || *static_cast<char*>(to) != static_cast<char>(i + 1)) {
      fail("a copy has not arrived", __FILE__, __LINE__);
    }
    for (const hsa_signal_t signal : {there, rest, moved}) MUST(hsa_signal_destroy(signal));
  }
  for (void* memory : {from, to, near, far}) {
    COUNTED(hsa_amd_memory_pool_free, memory);
  }
}

// Two queues, of which each waits for something; nothing is given back.
void stand_still(const std::string& mode, bool undumpable) {
  const Machine machine = find_machine();
  const Kernels kernels(machine.gpu);
  hsa_queue_t* queues[2];
  for (hsa_queue_t*& queue : queues) {
    COUNTED(hsa_queue_create, machine.gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX,
            UINT32_MAX, &queue);
  }
  const hsa_signal_t first = make_signal(1), second = make_signal(1);
  const hsa_signal_t unset = make_signal(mode == "unset" ? 3 : mode == "idle" ? 0 : 1);
  void* flag = nullptr;
  if (mode == "spins") {
    flag = allocate(machine.host, 4096, machine);
    memset(flag, 0, 4096);
    struct Arguments {
      void* flag;
      int step;
      float by;
    };
    auto* arguments = static_cast<Arguments*>(allocate(machine.host, 4096, machine));
    *arguments = {flag, -7, 0.5f};
    put_kernel(queues[0], kernels.spin, 64, first, arguments);
  } else {
    put_barrier(queues[0], mode == "deadlock" ? second : unset);
    put_kernel(queues[0], kernels.nothing, 64, first);
  }
  put_barrier(queues[1], first, second);
  put_kernel(queues[1], kernels.nothing, 64, {0});
  if (mode == "idle") {  // a barrier is the last that either has
    put_barrier(queues[0], second);
    wait_for(second);
    hsa_signal_store_screlease(second, 1);
  }
  if (undumpable) prctl(PR_SET_DUMPABLE, 0);
  printf("{\"first\": %lu, \"second\": %lu, \"flag\": \"%p\"}\n", queues[0]->id, queues[1]->id,
         flag);
  fflush(stdout);
  pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 1;
  MUST(hsa_init());
  rings_once = argc == 6 && std::string(argv[5]) == "once";
  if (mode == "dispatches" && argc == 5 + rings_once) {
    dispatches(count, static_cast<uint32_t>(atoi(argv[3])), argv[4]);
  } else if (mode == "abandons" && argc == 4) {
    abandons(count, static_cast<uint32_t>(atoi(argv[3])));
    dispatches(20, 64, "last");
  } else if (mode == "copies" && argc == 3) {
    copies(count);
  } else if (mode == "deadlock" || mode == "unset" || mode == "spins" || mode == "idle") {
    stand_still(mode, argc > 2 && std::string(argv[2]) == "undumpable");
  } else if (mode == "again") {
    dispatches(20, 64, "last");
    MUST(hsa_shut_down());
    MUST(hsa_init());
    dispatches(20, 64, "last");
  } else {
    fail("see its first lines for how to use it", __FILE__, __LINE__);
  }
  MUST(hsa_shut_down());
  printf("{");
  for (const auto& [name, times] : calls) {
    printf("%s\"%s\": %ld", name == calls.begin()->first ? "" : ", ", name.c_str(), times);
  }
  printf("}\n");
  return 0;
}
