// Runs kernels of a code object as an HSA program does, and reads their counters as a profiler
// does: through hsa_ven_amd_aqlprofile, with vendor packets around each dispatch. Input and output
// are those of run_engine. Each kernel runs once per set of counters that fits the hardware's
// registers.
//   run_hsa CODE_OBJECT COUNTER...      COUNTER is BLOCK:EVENT:NAME, BLOCK a number from the header
// Without counters each kernel runs once.
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "hsa/hsa_machine.h"

namespace {

struct Wanted {
  uint32_t block = 0, event = 0, instances = 1;
  std::string name;
};

hsa_ven_amd_aqlprofile_pfn_t api{};
Machine machine{};
hsa_queue_t* queue = nullptr;

void* allocate(size_t bytes) {
  void* memory = nullptr;
  MUST(hsa_amd_memory_pool_allocate(machine.host, bytes, 0, &memory));
  MUST(hsa_amd_agents_allow_access(1, &machine.gpu, nullptr, memory));
  std::memset(memory, 0, bytes);
  return memory;
}

void submit(const hsa_ext_amd_aql_pm4_packet_t& packet) {
  put(queue, packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC | kFences, packet.pm4_command[0]);
}

struct Session {
  std::vector<hsa_ven_amd_aqlprofile_event_t> events;
  hsa_ven_amd_aqlprofile_profile_t profile{};
  hsa_ext_amd_aql_pm4_packet_t start{}, stop{};

  void prepare() {
    profile.agent = machine.gpu;
    profile.type = HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC;
    profile.events = events.data();
    profile.event_count = static_cast<uint32_t>(events.size());
    MUST(api.hsa_ven_amd_aqlprofile_start(&profile, nullptr));  // returns the buffer sizes
    profile.command_buffer.ptr = allocate(profile.command_buffer.size);
    profile.output_buffer.ptr = allocate(profile.output_buffer.size);
    MUST(api.hsa_ven_amd_aqlprofile_start(&profile, &start));
    MUST(api.hsa_ven_amd_aqlprofile_stop(&profile, &stop));
  }
  ~Session() {
    hsa_amd_memory_pool_free(profile.command_buffer.ptr);
    hsa_amd_memory_pool_free(profile.output_buffer.ptr);
  }
};

void run(const hsa_kernel_dispatch_packet_t& kernel, uint32_t items, uint32_t group, void* kernarg,
         Session* session) {
  hsa_signal_t done{};
  MUST(hsa_signal_create(1, 0, nullptr, &done));
  hsa_kernel_dispatch_packet_t packet = kernel;
  packet.workgroup_size_x = static_cast<uint16_t>(group);
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = items;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernarg_address = kernarg;
  (session != nullptr ? session->stop.completion_signal : packet.completion_signal) = done;
  if (session != nullptr) submit(session->start);
  put(queue, packet, HSA_PACKET_TYPE_KERNEL_DISPATCH | kFences, 1);
  if (session != nullptr) submit(session->stop);
  wait_for(done);
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
    profile.agent = machine.gpu;
    profile.events = &event;
    profile.event_count = 1;
    uint32_t registers = 1;
    MUST(api.hsa_ven_amd_aqlprofile_get_info(&profile, HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_COUNTERS,
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
  profile.agent = machine.gpu;
  MUST(api.hsa_ven_amd_aqlprofile_get_info(&profile, HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID, &query));
  made.block = query.id;
  made.instances = query.instance_count;
  hsa_ven_amd_aqlprofile_event_t event{static_cast<hsa_ven_amd_aqlprofile_block_name_t>(made.block),
                                       0, made.event};
  bool is_valid = false;
  MUST(api.hsa_ven_amd_aqlprofile_validate_event(machine.gpu, &event, &is_valid));
  if (!is_valid) {
    std::printf("refused %s\n", made.name.c_str());
    made.name.clear();
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  MUST(hsa_init());
  machine = find_machine();
  MUST(hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_AQLPROFILE, 1, sizeof(api), &api));
  std::vector<Wanted> wanted;
  for (int i = 2; i < argc; ++i) {
    Wanted each = parse(argv[i]);
    if (!each.name.empty()) wanted.push_back(each);
  }
  MUST(hsa_queue_create(machine.gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, 0, 0, &queue));
  const Code code(machine.gpu, argv[1]);
  auto** kernarg = static_cast<void**>(allocate(64));
  kernarg[0] = allocate(4 << 20);
  std::string name;
  uint32_t items = 0, group = 0;
  const auto sets = sets_of(wanted);
  while (std::cin >> name >> items >> group) {
    const std::string symbol = name + ".kd";
    hsa_kernel_dispatch_packet_t kernel{};
    kernel.kernel_object = code.kernel(symbol);
    kernel.private_segment_size =
        code.kernel<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
    kernel.group_segment_size =
        code.kernel<uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
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
      MUST(api.hsa_ven_amd_aqlprofile_iterate_data(&session.profile, print, &found));
    }
  }
  hsa_queue_destroy(queue);
  hsa_shut_down();
  return 0;
}
