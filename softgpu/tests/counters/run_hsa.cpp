// Runs kernels of a code object as an HSA program does, and reads their counters as a profiler
// does: through hsa_ven_amd_aqlprofile, with vendor packets around each dispatch. Input and output
// are those of run_engine. Each kernel runs once per set of counters that fits the hardware's
// registers.
//   run_hsa CODE_OBJECT COUNTER...      COUNTER is BLOCK:EVENT:NAME, BLOCK a number from the header
// Without counters each kernel runs once.
#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  const char* text = "";
  hsa_status_string(status, &text);
  std::fprintf(stderr, "run_hsa: %s: %s\n", what, text);
  std::exit(1);
}
#define CHECK(call) check(call, #call)

struct Wanted {
  uint32_t block = 0, event = 0, instances = 1;
  std::string name;
};

hsa_ven_amd_aqlprofile_pfn_t api{};
hsa_agent_t gpu{}, cpu{};
hsa_amd_memory_pool_t host_memory{}, kernarg_memory{};
hsa_queue_t* queue = nullptr;

void find_agents() {
  CHECK(hsa_iterate_agents(
      [](hsa_agent_t agent, void*) {
        hsa_device_type_t type{};
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        (type == HSA_DEVICE_TYPE_GPU ? gpu : cpu) = agent;
        return HSA_STATUS_SUCCESS;
      },
      nullptr));
  CHECK(hsa_amd_agent_iterate_memory_pools(
      cpu,
      [](hsa_amd_memory_pool_t pool, void*) {
        uint32_t flags = 0;
        hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
        if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) kernarg_memory = pool;
        if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) host_memory = pool;
        return HSA_STATUS_SUCCESS;
      },
      nullptr));
}

void* allocate(size_t bytes) {
  void* memory = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(host_memory, bytes, 0, &memory));
  CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory));
  std::memset(memory, 0, bytes);
  return memory;
}

hsa_executable_t load(const char* path) {
  const int file = open(path, O_RDONLY);
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  CHECK(hsa_code_object_reader_create_from_file(file, &reader));
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                  nullptr, &executable));
  CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  CHECK(hsa_executable_freeze(executable, nullptr));
  return executable;
}

// Writes a 64-byte packet to the queue, the header last.
void submit(const void* packet) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
  }
  char* const slot = static_cast<char*>(queue->base_address) + index % queue->size * 64;
  std::memcpy(slot + 4, static_cast<const char*>(packet) + 4, 60);
  uint32_t header = 0;
  std::memcpy(&header, packet, 4);
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

constexpr uint16_t kBarrier = 1 << HSA_PACKET_HEADER_BARRIER,
                   kFences = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                             HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

struct Kernel {
  uint64_t object = 0;
  uint32_t private_bytes = 0, group_bytes = 0;
};

Kernel find_kernel(hsa_executable_t executable, const std::string& name) {
  hsa_executable_symbol_t symbol{};
  CHECK(hsa_executable_get_symbol_by_name(executable, (name + ".kd").c_str(), &gpu, &symbol));
  Kernel kernel;
  const auto ask = [&](hsa_executable_symbol_info_t what, void* value) {
    CHECK(hsa_executable_symbol_get_info(symbol, what, value));
  };
  ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
  ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_bytes);
  ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_bytes);
  return kernel;
}

struct Session {
  std::vector<hsa_ven_amd_aqlprofile_event_t> events;
  hsa_ven_amd_aqlprofile_profile_t profile{};
  hsa_ext_amd_aql_pm4_packet_t start{}, stop{};

  void prepare() {
    profile.agent = gpu;
    profile.type = HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC;
    profile.events = events.data();
    profile.event_count = static_cast<uint32_t>(events.size());
    CHECK(api.hsa_ven_amd_aqlprofile_start(&profile, nullptr));  // returns the buffer sizes
    profile.command_buffer.ptr = allocate(profile.command_buffer.size);
    profile.output_buffer.ptr = allocate(profile.output_buffer.size);
    CHECK(api.hsa_ven_amd_aqlprofile_start(&profile, &start));
    CHECK(api.hsa_ven_amd_aqlprofile_stop(&profile, &stop));
    start.header = stop.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC | kBarrier | kFences;
  }
  ~Session() {
    hsa_amd_memory_pool_free(profile.command_buffer.ptr);
    hsa_amd_memory_pool_free(profile.output_buffer.ptr);
  }
};

void run(const Kernel& kernel, uint32_t items, uint32_t group, void* kernarg, Session* session) {
  hsa_signal_t done{};
  CHECK(hsa_signal_create(1, 0, nullptr, &done));
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH | kBarrier | kFences;
  packet.setup = 1;
  packet.workgroup_size_x = static_cast<uint16_t>(group);
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = items;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.private_segment_size = kernel.private_bytes;
  packet.group_segment_size = kernel.group_bytes;
  packet.kernel_object = kernel.object;
  packet.kernarg_address = kernarg;
  (session != nullptr ? session->stop.completion_signal : packet.completion_signal) = done;
  if (session != nullptr) submit(&session->start);
  submit(&packet);
  if (session != nullptr) submit(&session->stop);
  hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, ~uint64_t{0}, HSA_WAIT_STATE_BLOCKED);
  hsa_signal_destroy(done);
}

// Splits the counters into sets that fit the registers of their blocks.
std::vector<std::vector<Wanted>> sets_of(const std::vector<Wanted>& wanted) {
  std::vector<std::vector<Wanted>> sets;
  std::map<uint32_t, size_t> used;
  for (const Wanted& each : wanted) {
    hsa_ven_amd_aqlprofile_event_t event{
        static_cast<hsa_ven_amd_aqlprofile_block_name_t>(each.block), 0, each.event};
    hsa_ven_amd_aqlprofile_profile_t profile{};
    profile.agent = gpu;
    profile.events = &event;
    profile.event_count = 1;
    uint32_t registers = 1;
    CHECK(api.hsa_ven_amd_aqlprofile_get_info(&profile, HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_COUNTERS,
                                              &registers));
    const size_t set = used[each.block]++ / registers;
    if (set >= sets.size()) sets.resize(set + 1);
    sets[set].push_back(each);
  }
  return sets;
}

struct Found {
  const std::vector<Wanted>* set;
};

hsa_status_t print(hsa_ven_amd_aqlprofile_info_type_t, hsa_ven_amd_aqlprofile_info_data_t* info,
                   void* data) {
  const auto& event = info->pmc_data.event;
  for (const Wanted& each : *static_cast<Found*>(data)->set) {
    if (each.block != static_cast<uint32_t>(event.block_name) || each.event != event.counter_id)
      continue;
    if (info->pmc_data.result == 0) continue;
    std::printf("%s %u %u %llu\n", each.name.c_str(), info->sample_id, event.block_index,
                static_cast<unsigned long long>(info->pmc_data.result));
  }
  return HSA_STATUS_SUCCESS;
}

Wanted parse(const std::string& text) {
  Wanted made;
  const size_t first = text.find(':'), second = text.find(':', first + 1);
  const std::string block = text.substr(0, first);
  made.event = static_cast<uint32_t>(std::stoul(text.substr(first + 1)));
  made.name = text.substr(second + 1);
  hsa_ven_amd_aqlprofile_id_query_t query{block.c_str(), 0, 0};
  hsa_ven_amd_aqlprofile_profile_t profile{};
  profile.agent = gpu;
  CHECK(
      api.hsa_ven_amd_aqlprofile_get_info(&profile, HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID, &query));
  made.block = query.id;
  made.instances = query.instance_count;
  hsa_ven_amd_aqlprofile_event_t event{static_cast<hsa_ven_amd_aqlprofile_block_name_t>(made.block),
                                       0, made.event};
  bool is_valid = false;
  CHECK(api.hsa_ven_amd_aqlprofile_validate_event(gpu, &event, &is_valid));
  if (!is_valid) {
    std::printf("refused %s\n", made.name.c_str());
    made.name.clear();
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  CHECK(hsa_init());
  find_agents();
  CHECK(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_AQLPROFILE, 1, sizeof(api), &api));
  std::vector<Wanted> wanted;
  for (int i = 2; i < argc; ++i) {
    Wanted each = parse(argv[i]);
    if (!each.name.empty()) wanted.push_back(each);
  }
  CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, 0, 0, &queue));
  const hsa_executable_t executable = load(argv[1]);
  void* memory = allocate(4 << 20);
  void** kernarg = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(kernarg_memory, 64, 0, reinterpret_cast<void**>(&kernarg)));
  CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, kernarg));
  kernarg[0] = memory;
  std::string name;
  uint32_t items = 0, group = 0;
  const auto sets = sets_of(wanted);
  while (std::cin >> name >> items >> group) {
    const Kernel kernel = find_kernel(executable, name);
    std::printf("kernel %s\n", name.c_str());
    if (sets.empty()) run(kernel, items, group, kernarg, nullptr);
    for (const auto& set : sets) {
      Session session;
      for (const Wanted& each : set) {
        for (uint32_t i = 0; i < each.instances; ++i)
          session.events.push_back(
              {static_cast<hsa_ven_amd_aqlprofile_block_name_t>(each.block), i, each.event});
      }
      session.prepare();
      run(kernel, items, group, kernarg, &session);
      Found found{&set};
      CHECK(api.hsa_ven_amd_aqlprofile_iterate_data(&session.profile, print, &found));
    }
  }
  hsa_queue_destroy(queue);
  hsa_shut_down();
  return 0;
}
