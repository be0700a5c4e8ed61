// The counters of a device: which of the wanted counters each pass has on it, the packets that
// start and stop them, and their values. One session per device, since one dispatch at a time is
// counted.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/rocm/hsa/aqlprofile_abi.h"
#include "backends/rocm/hsa/counter_request.h"
#include "backends/rocm/hsa/counting.h"

namespace sonde::hsa {

// What a pass counts: each of the `counters` has some of the `events`, one per instance of its
// block.
struct Counter {
  uint32_t name;  // intern()ed
  uint32_t first, count;
};
struct ReadValue {
  uint32_t counter;  // index into `counters`
  sonde_counter_value value;
};
struct CounterPass {
  uint32_t number;
  DispatchPacket start, stop;
  const AqlprofileTable* table;
  AgentHandle agent;
  Profile profile;
  ProfileEvent* events;
  Counter* counters;
  ReadValue* read;              // all values of one run
  sonde_counter_value* values;  // of one counter
  uint32_t event_count, event_room, counter_count, counter_room, read_count, read_room, value_count,
      value_room;
  uint32_t refused;
  char refused_names[2000];
};

namespace {

constexpr uint32_t kMostSessions = 64;
constexpr uint32_t kMostPasses = 64;
constexpr uint32_t kGlobalFlags = 1;  // flag of a memory pool
constexpr uint32_t kFineGrained = 2;
constexpr uint16_t kPacketHeader = kVendorPacket | 1 << 8 | 2 << 9 | 2 << 11;  // barrier, fences

CounterSession g_sessions[kMostSessions];
uint32_t g_session_count;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
AqlprofileTable g_table;
bool g_has_table;

// Makes room for one more element; false without memory.
template <typename T>
bool grow(T** items, uint32_t count, uint32_t* room) {
  if (count < *room) return true;
  const uint32_t more = *room != 0 ? *room * 2 : 64;
  auto* grown = static_cast<T*>(realloc(*items, more * sizeof(T)));
  if (grown == nullptr) return false;
  *items = grown;
  *room = more;
  return true;
}

void complain(const char* what) {
  const char* why = "";
  if (g_has_table && g_table.error_string != nullptr) g_table.error_string(&why);
  char text[300];
  snprintf(text, sizeof text, "hardware counters are not recorded: %s%s%s", what,
           why != nullptr && *why != '\0' ? ": " : "", why != nullptr ? why : "");
  rocm::report(SONDE_ERROR, "counters", text);
}

bool find_table() {
  if (g_has_table) return true;
  g_has_table = next().system_get_major_extension_table(kExtensionAqlprofile, 1, sizeof g_table,
                                                        &g_table) == kSuccess;
  if (!g_has_table) complain("the runtime finds no libhsa-amd-aqlprofile64.so");
  return g_has_table;
}

void refuse(CounterPass* plan, const char* name) {
  ++plan->refused;
  const size_t used = strlen(plan->refused_names);
  snprintf(plan->refused_names + used, sizeof plan->refused_names - used, "%s%s",
           used != 0 ? " " : "", name);
}

// Adds a counter for all instances of its block.
void add_counter(const WantedCounter& wanted, void* data) {
  auto* plan = static_cast<CounterPass*>(data);
  ProfileBlock block = {wanted.block, 0, 0};
  Profile profile = {};
  profile.agent = plan->agent;
  bool valid = false;
  if (plan->table->get_info(&profile, kProfileBlock, &block) == kSuccess) {
    const ProfileEvent event = {block.id, 0, wanted.event};
    if (plan->table->validate_event(plan->agent, &event, &valid) != kSuccess) valid = false;
  }
  if (!valid || block.instances == 0) return refuse(plan, wanted.name);
  if (!grow(&plan->counters, plan->counter_count, &plan->counter_room)) return;
  Counter* counter = &plan->counters[plan->counter_count];
  *counter = {agent().intern(wanted.name, strlen(wanted.name)), plan->event_count, 0};
  for (uint32_t i = 0; i < block.instances; ++i) {
    if (!grow(&plan->events, plan->event_count, &plan->event_room)) break;
    plan->events[plan->event_count++] = {block.id, i, wanted.event};
    ++counter->count;
  }
  ++plan->counter_count;
}

struct FoundPool {
  Pool pool;
  bool found;
};

Status find_pool(Pool pool, void* data) {
  auto* found = static_cast<FoundPool*>(data);
  uint32_t segment = 1, flags = 0;
  next().memory_pool_get_info(pool, kPoolSegment, &segment);
  next().memory_pool_get_info(pool, kGlobalFlags, &flags);
  if (segment != 0 || (flags & kFineGrained) == 0) return kSuccess;
  if (!found->found) *found = {pool, true};
  return kSuccess;
}

// Allocates host memory that the device can access.
void* allocate(const Device* device, size_t bytes) {
  const Device* host = host_device();
  FoundPool pool = {};
  void* memory = nullptr;
  if (host == nullptr) return nullptr;
  next().agent_iterate_memory_pools(host->handle, find_pool, &pool);
  if (!pool.found || next().memory_pool_allocate(pool.pool, bytes, 0, &memory) != kSuccess) {
    return nullptr;
  }
  if (next().agents_allow_access(1, &device->handle, nullptr, memory) != kSuccess) {
    next().memory_pool_free(memory);
    return nullptr;
  }
  memset(memory, 0, bytes);
  return memory;
}

// Creates the packets; on failure reports it and returns false.
bool make_packets(const Device* device, CounterPass* plan) {
  Profile& profile = plan->profile;
  profile.agent = plan->agent;
  profile.events = plan->events;
  profile.event_count = plan->event_count;
  if (plan->table->start(&profile, nullptr) != kSuccess) {
    complain("the library refuses them");
    return false;
  }
  profile.commands.ptr = allocate(device, profile.commands.size);
  profile.output.ptr = allocate(device, profile.output.size);
  ProfilePacket start = {}, stop = {};
  if (profile.commands.ptr == nullptr || profile.output.ptr == nullptr ||
      plan->table->start(&profile, &start) != kSuccess ||
      plan->table->stop(&profile, &stop) != kSuccess) {
    complain("their commands cannot be created");
    return false;
  }
  start.header = stop.header = kPacketHeader;
  memcpy(&plan->start, &start, sizeof start);
  memcpy(&plan->stop, &stop, sizeof stop);
  return true;
}

void free_pass(CounterPass* plan) {
  if (plan->profile.commands.ptr != nullptr) next().memory_pool_free(plan->profile.commands.ptr);
  if (plan->profile.output.ptr != nullptr) next().memory_pool_free(plan->profile.output.ptr);
  free(plan->events);
  free(plan->counters);
  free(plan->read);
  free(plan->values);
  free(plan);
}

// The pass (`text`) on this device; nullptr: it counts nothing.
CounterPass* make_pass(const Device* device, const char* gpu, const char* text) {
  auto* plan = static_cast<CounterPass*>(calloc(1, sizeof(CounterPass)));
  if (plan == nullptr) return nullptr;
  plan->number = pass_of(text);
  plan->table = &g_table;
  plan->agent = device->handle;
  const bool good = each_wanted(text, gpu, add_counter, plan);
  if (!good) complain("SONDE_COUNTERS was not written by sonde profile");
  if (plan->refused != 0) {
    char names[2200];
    snprintf(names, sizeof names, "%s: %s", gpu, plan->refused_names);
    agent().metadata("counters.refused", names);
  }
  if (good && plan->counter_count != 0 && make_packets(device, plan)) return plan;
  free_pass(plan);
  return nullptr;
}

void prepare(CounterSession* session) {
  if (!find_table()) return;
  char gpu[65] = {};
  next().agent_get_info(session->device->handle, kAgentName, gpu);
  session->passes = static_cast<CounterPass**>(calloc(kMostPasses, sizeof(CounterPass*)));
  if (session->passes == nullptr) return;
  if (getenv("SOFTGPU_TREE") != nullptr) agent().metadata("counters.software", gpu);
  const char* text = getenv("SONDE_COUNTERS");
  for (; text != nullptr && session->pass_count < kMostPasses; text = next_pass(text)) {
    CounterPass* pass = make_pass(session->device, gpu, text);
    if (pass != nullptr) session->passes[session->pass_count++] = pass;
  }
}

// The index of the event's counter; events come ordered by counter.
uint32_t counter_of(const CounterPass& plan, const ProfileEvent& event, uint32_t newest) {
  for (uint32_t i = 0; i < plan.counter_count; ++i) {
    const uint32_t place = (newest + i) % plan.counter_count;
    const ProfileEvent& first = plan.events[plan.counters[place].first];
    if (first.block == event.block && first.counter == event.counter) return place;
  }
  return plan.counter_count;
}

Status take_value(uint32_t info, ProfileData* data, void* user) {
  auto* plan = static_cast<CounterPass*>(user);
  if (info != kProfileData || !grow(&plan->read, plan->read_count, &plan->read_room)) {
    return kSuccess;
  }
  const uint32_t newest = plan->read_count != 0 ? plan->read[plan->read_count - 1].counter : 0;
  const uint32_t counter = counter_of(*plan, data->event, newest);
  if (counter == plan->counter_count) return kSuccess;
  plan->read[plan->read_count++] = {
      counter, {0, static_cast<uint16_t>(data->sample), data->event.instance, data->result}};
  return kSuccess;
}

// Makes the values of one counter contiguous.
void gather(CounterPass* plan, uint32_t counter) {
  plan->value_count = 0;
  for (uint32_t i = 0; i < plan->read_count; ++i) {
    if (plan->read[i].counter != counter) continue;
    if (!grow(&plan->values, plan->value_count, &plan->value_room)) return;
    plan->values[plan->value_count++] = plan->read[i].value;
  }
}

}  // namespace

CounterSession* session_of(const Device* device) {
  pthread_mutex_lock(&g_lock);
  CounterSession* found = nullptr;
  for (uint32_t i = 0; i < g_session_count && found == nullptr; ++i) {
    if (g_sessions[i].device == device) found = &g_sessions[i];
  }
  if (found == nullptr && g_session_count < kMostSessions) {
    found = &g_sessions[g_session_count];
    *found = {};
    found->device = device;
    prepare(found);
    ++g_session_count;
  }
  pthread_mutex_unlock(&g_lock);
  return found;
}

const DispatchPacket& start_of(const CounterPass& pass) { return pass.start; }
const DispatchPacket& stop_of(const CounterPass& pass) { return pass.stop; }

void read_counters(CounterPass* plan, const struct sonde_op& op) {
  plan->read_count = 0;
  const Status status = plan->table->iterate_data(&plan->profile, take_value, plan);
  for (uint32_t i = 0; i < plan->counter_count; ++i) {
    gather(plan, i);
    if (status != kSuccess || plan->value_count == 0) {
      agent().dropped("hardware counters that could not be read", 1);
      continue;
    }
    struct sonde_op_counter record = {};
    record.name = plan->counters[i].name;
    record.queue = op.queue;
    record.start = op.start;
    record.pass = plan->number;
    record.count = plan->value_count;
    record.values = plan->values;
    agent().op_counter(&record);
  }
}

void free_sessions() {
  pthread_mutex_lock(&g_lock);
  for (uint32_t i = 0; i < g_session_count; ++i) {
    const CounterSession& session = g_sessions[i];
    for (uint32_t pass = 0; pass < session.pass_count; ++pass) free_pass(session.passes[pass]);
    free(session.passes);
  }
  g_session_count = 0;
  g_has_table = false;
  pthread_mutex_unlock(&g_lock);
}

}  // namespace sonde::hsa
