// Stands in for the HSA runtime of ROCm 6.1 and later as a tool sees its life: it counts who
// started it, hands its tables to rocprofiler-register and, if no tool takes them, to the tools of
// HSA_TOOLS_LIB; tells only those of its end; and when it ends, its signals are memory that may not
// be looked at any more. The device runs what it is told to run.
//   fake_hsa lives      started twice, ended twice, with ops that never finish; then started again
//   fake_hsa leaves     the program ends without ending the runtime
//   fake_hsa preempted  likewise, at the moment when the thread that collects finished kernels has
//                       found them but does not get the processor for 60 ms
//   fake_hsa destroys   queues that are destroyed before all that is in them has finished
//   fake_hsa copies     copies, one of them never done, and one that the runtime refuses
//   fake_hsa version LIBRARY ROOT CORE AMD   tables of such major versions; says what was replaced
// Prints what it knows to have finished, and what not.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cpu_clock.h"
#include "fake_runtime.h"

namespace {

constexpr int kNotInitialised = 0x100B;
constexpr uint32_t kAmdBytes = 560, kCoreBytes = 1016;  // ROCm 6.1
constexpr uint32_t kMoved = 16;                         // of what lies behind 144 in 5.5
constexpr uint64_t kGpu = 0x20;

struct Signal {  // amd_signal_t
  int64_t kind, value;
  uint64_t mailbox;
  uint32_t event, reserved;
  uint64_t start, end, queue, reserved2;
};
struct Packet {
  uint16_t header, setup, group[3], reserved0;
  uint32_t grid[3], private_bytes, group_bytes;
  uint64_t kernel, kernarg, reserved2, completion;
};
using Writer = void (*)(const void*, uint64_t);
using Handler = void (*)(const void*, uint64_t, uint64_t, void*, Writer);
struct Queue {  // hsa_queue_t
  uint32_t type, features;
  void* base;
  uint64_t doorbell;
  uint32_t size, reserved;
  uint64_t id;
  // The fake's own.
  Handler handler;
  void* data;
  uint64_t index;
  std::vector<Packet> hardware;
};
struct {
  Version version;
  void** core;
  void** amd;
  void* others[4];
} root;
void* core_table[kCoreBytes / 8];
void* amd_table[kAmdBytes / 8];
Version versions[3] = {{3, 64, 0, 0}, {2, kCoreBytes, 0, 0}, {2, kAmdBytes, 0, 0}};
uint64_t library_version = 11400;

constexpr size_t kSignals = 4096;
Signal* signals;  // of this start of the runtime
size_t made;
int users;
Queue* writing;
std::vector<void (*)()> unloads;

uint64_t now_ns() { return static_cast<uint64_t>(clock_ns(CLOCK_BOOTTIME)); }
Signal* at(uint64_t handle) { return reinterpret_cast<Signal*>(handle); }

int succeed() { return users > 0 ? 0 : kNotInitialised; }
int system_info(uint32_t attribute, uint64_t* value) {
  if (users == 0) return kNotInitialised;
  *value = attribute == 3 ? 1000000000u : now_ns();
  return 0;
}
int agents(int (*visit)(uint64_t, void*), void* data) {
  visit(kGpu - 1, data);
  return visit(kGpu, data);
}
int agent_info(uint64_t agent, uint32_t attribute, void* value) {
  if (attribute == 17) *static_cast<uint32_t*>(value) = agent == kGpu;
  if (attribute == 0) strcpy(static_cast<char*>(value), "gfx90a");
  return 0;
}
int make_signal(int64_t initial, uint32_t, const void*, uint64_t, uint64_t* signal) {
  if (made == kSignals) return 0x1008;
  signals[made] = {1, initial, 0, 0, 0, 0, 0, 0, 0};
  *signal = reinterpret_cast<uint64_t>(&signals[made++]);
  return 0;
}
int destroy_signal(uint64_t) { return 0; }
int64_t load_signal(uint64_t signal) { return at(signal)->value; }
void subtract(uint64_t signal, int64_t value) { __atomic_fetch_sub(&at(signal)->value, value, 3); }
// The collector loses the processor when it looks at its first op.
bool preempts;
int preempted;
void maybe_preempt() {
  char name[16] = "";
  if (!preempts || pthread_getname_np(pthread_self(), name, sizeof name) != 0 ||
      strcmp(name, "sonde-hsa") != 0 || __atomic_exchange_n(&preempted, 1, 3) != 0) {
    return;
  }
  usleep(60'000);
}
int times_of(uint64_t signal, uint64_t* times) {
  maybe_preempt();
  times[0] = at(signal)->start;
  times[1] = at(signal)->end;
  return 0;
}
int dispatch_times(uint64_t, uint64_t signal, uint64_t* times) { return times_of(signal, times); }

int make_queue(uint64_t, uint32_t size, uint32_t type, void*, void*, uint32_t, uint32_t,
               Queue** queue) {
  *queue = new Queue();
  (*queue)->size = size;
  (*queue)->type = type;
  return 0;
}
int intercept(Queue* queue, Handler handler, void* data) {
  queue->handler = handler;
  queue->data = data;
  return 0;
}
int destroy_queue(Queue* queue) {
  delete queue;
  return 0;
}
void write_packets(const void* packets, uint64_t count) {
  const auto* packet = static_cast<const Packet*>(packets);
  writing->hardware.insert(writing->hardware.end(), packet, packet + count);
}
void finish(uint64_t signal) {
  if (signal == 0) return;
  at(signal)->start = now_ns();
  at(signal)->end = now_ns() + 1000;
  subtract(signal, 1);
}

uint64_t copy_with;  // the signal of the last copy
int copy(void*, uint64_t, const void*, uint64_t, size_t bytes, uint32_t, const void*,
         uint64_t signal) {
  if (bytes == 0) return 0x1001;
  copy_with = signal;
  return 0;
}
struct Watched {
  uint64_t signal;
  bool (*handler)(int64_t, void*);
  void* data;
};
std::vector<Watched> watched;
int async_handler(uint64_t signal, uint32_t, int64_t, bool (*handler)(int64_t, void*), void* data) {
  watched.push_back({signal, handler, data});
  return 0;
}
void call_handlers() {
  for (size_t i = 0; i < watched.size();) {
    const Watched one = watched[i];
    if (at(one.signal)->value < 1 && !one.handler(0, one.data)) {
      watched.erase(watched.begin() + static_cast<long>(i));
    } else {
      ++i;
    }
  }
}

int start();
int end();

void reset_tables() {
  for (void*& slot : core_table) slot = pointer(succeed);
  for (void*& slot : amd_table) slot = pointer(succeed);
  memcpy(&root.version, &versions[0], sizeof(Version));
  memcpy(core_table, &versions[1], sizeof(Version));
  memcpy(amd_table, &versions[2], sizeof(Version));
  root.core = core_table;
  root.amd = amd_table;
  core_table[16 / 8] = pointer(start);
  core_table[24 / 8] = pointer(end);
  core_table[32 / 8] = pointer(system_info);
  core_table[56 / 8] = pointer(agents);
  core_table[64 / 8] = pointer(agent_info);
  core_table[72 / 8] = pointer(make_queue);
  core_table[88 / 8] = pointer(destroy_queue);
  core_table[320 / 8] = pointer(destroy_signal);
  core_table[328 / 8] = pointer(load_signal);
  core_table[552 / 8] = pointer(subtract);
  amd_table[48 / 8] = pointer(dispatch_times);
  amd_table[56 / 8] = pointer(times_of);
  amd_table[72 / 8] = pointer(async_handler);
  amd_table[136 / 8] = pointer(copy);
  amd_table[(264 + kMoved) / 8] = pointer(make_signal);
  amd_table[(296 + kMoved) / 8] = pointer(make_queue);
  amd_table[(304 + kMoved) / 8] = pointer(intercept);
}

void load_all_tools() {
  if (hand_over("hsa", library_version, &root) == 0) return;
  load_tools(&root, 3, [](void* library) {
    void* unload = dlsym(library, "OnUnload");
    if (unload != nullptr) unloads.push_back(reinterpret_cast<void (*)()>(unload));
  });
}

int start() {
  if (users++ > 0) return 0;
  signals = static_cast<Signal*>(mmap(nullptr, kSignals * sizeof(Signal), PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  made = 0;
  reset_tables();
  load_all_tools();
  return 0;
}
int end() {
  if (users == 0) return kNotInitialised;
  if (--users > 0) return 0;
  ++users;  // tools may still look
  for (size_t i = unloads.size(); i > 0; --i) unloads[i - 1]();
  unloads.clear();
  watched.clear();
  reset_tables();
  users = 0;
  mprotect(signals, kSignals * sizeof(Signal), PROT_NONE);
  return 0;
}

// ---- what a program calls, by the tables as HSA's own functions do ----

int hsa_init() { return call<int>(core_table[16 / 8]); }
int hsa_shut_down() { return call<int>(core_table[24 / 8]); }
uint64_t create_signal(int64_t value) {
  uint64_t signal = 0;
  call<int>(amd_table[(264 + kMoved) / 8], value, 0u, static_cast<void*>(nullptr), uint64_t{0},
            &signal);
  return signal;
}
Queue* create_queue(uint32_t size) {
  Queue* queue = nullptr;
  void* none = nullptr;
  call<int>(core_table[72 / 8], kGpu, size, 0u, none, none, 0u, 0u, &queue);
  return queue;
}
void destroy(Queue* queue) { call<int>(core_table[88 / 8], queue); }

void dispatch(Queue* queue, int count, uint64_t completion = 0) {
  for (int i = 0; i < count; ++i) {
    Packet packet = {};
    packet.header = 2;
    packet.setup = 1;
    packet.group[0] = packet.group[1] = packet.group[2] = 1;
    packet.grid[0] = 64;
    packet.completion = completion;
    writing = queue;
    if (queue->handler == nullptr) {
      write_packets(&packet, 1);
    } else {
      queue->handler(&packet, 1, queue->index, queue->data, write_packets);
    }
    ++queue->index;
  }
}
void run(Queue* queue, size_t most = ~size_t{0}) {
  size_t count = 0;
  for (; count < queue->hardware.size() && count < most; ++count) {
    finish(queue->hardware[count].completion);
  }
  queue->hardware.erase(queue->hardware.begin(),
                        queue->hardware.begin() + static_cast<long>(count));
}

void pause_a_little() { usleep(20'000); }  // the collector looks every 2 ms

int lives() {
  hsa_init();
  Queue* queue = create_queue(64);
  dispatch(queue, 10);
  run(queue);
  hsa_init();
  hsa_shut_down();
  pause_a_little();
  dispatch(queue, 5);
  run(queue);
  dispatch(queue, 3);
  dispatch(queue, 1, create_signal(1));
  const int last = hsa_shut_down();
  pause_a_little();
  hsa_init();
  queue = create_queue(64);
  dispatch(queue, 4);
  run(queue);
  destroy(queue);
  hsa_shut_down();
  printf("{\"finished\": 19, \"unfinished\": 4, \"last\": %d, \"after\": %d}\n", last,
         hsa_shut_down());
  return 0;
}

int leaves() {
  hsa_init();
  Queue* queue = create_queue(64);
  dispatch(queue, 10);
  run(queue);
  dispatch(queue, 2, create_signal(1));
  printf("{\"finished\": 10}\n");
  return 0;
}

int leaves_preempted() {
  preempts = true;
  hsa_init();
  Queue* queue = create_queue(64);
  dispatch(queue, 10);
  run(queue);
  while (__atomic_load_n(&preempted, 2) == 0) usleep(100);
  printf("{\"finished\": 10}\n");
  return 0;
}

int destroys() {
  hsa_init();
  for (int round = 0; round < 20; ++round) {
    Queue* queue = create_queue(16);
    dispatch(queue, 2, create_signal(2));  // counts both
    dispatch(queue, 7);
    const uint64_t own = create_signal(1);
    dispatch(queue, 1, own);
    run(queue, 3);
    if (round % 2 != 0) pause_a_little();
    destroy(queue);
    Queue* after = create_queue(16);  // may have the place of the one before
    dispatch(after, 8);
    run(after);
    destroy(after);
  }
  hsa_shut_down();
  printf("{\"finished\": %d, \"unfinished\": %d}\n", 20 * 11, 20 * 7);
  return 0;
}

int copies() {
  hsa_init();
  const auto copy_bytes = [](size_t bytes, uint64_t signal) {
    void* none = nullptr;
    return call<int>(amd_table[136 / 8], none, kGpu, none, kGpu - 1, bytes, 0u, none, signal);
  };
  const uint64_t both = create_signal(2), own = create_signal(1);
  copy_bytes(100, both);
  finish(copy_with);
  call_handlers();
  copy_bytes(200, both);  // never done
  copy_bytes(300, own);
  finish(own);
  pause_a_little();
  const int refused = copy_bytes(0, create_signal(2));
  call_handlers();
  printf("{\"finished\": 2, \"unfinished\": 1, \"refused\": %d, \"left\": %ld}\n", refused,
         at(both)->value);
  return hsa_shut_down();
}

int version(char** numbers) {
  library_version = strtoul(numbers[0], nullptr, 10);
  for (int i = 0; i < 3; ++i) {
    versions[i].major = static_cast<uint32_t>(strtoul(numbers[i + 1], nullptr, 10));
  }
  hsa_init();
  printf("replaced: %s\n", core_table[72 / 8] != pointer(make_queue) ? "yes" : "no");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  reset_tables();
  if (what == "lives") return lives();
  if (what == "leaves") return leaves();
  if (what == "preempted") return leaves_preempted();
  if (what == "destroys") return destroys();
  if (what == "copies") return copies();
  if (what == "version" && argc == 6) return version(argv + 2);
  return 2;
}
