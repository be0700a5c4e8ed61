// A stand-in for AMD's libhsa-amd-aqlprofile64.so, which no Debian release has: the functions of
// hsa_ven_amd_aqlprofile.h, for the counters that softgpu can count. Of softgpu it uses only the
// table of counters: it writes commands for gfx9.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_aqlprofile.h>

#include <cstring>
#include <string>

#include "aqlprofile/commands.h"

namespace softgpu::aqlprofile {
namespace {

constexpr uint32_t kAlignment = 256;

thread_local std::string last_error;

hsa_status_t fail(const char* what, hsa_status_t status = HSA_STATUS_ERROR) {
  last_error = what;
  return status;
}

struct BlockName {
  hsa_ven_amd_aqlprofile_block_name_t id;
  CounterBlock block;
};
constexpr BlockName kBlocks[] = {
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SQ, CounterBlock::kSq},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_SPI, CounterBlock::kSpi},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TA, CounterBlock::kTa},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TD, CounterBlock::kTd},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCP, CounterBlock::kTcp},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_TCC, CounterBlock::kTcc},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_GRBM, CounterBlock::kGrbm},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPC, CounterBlock::kCpc},
    {HSA_VEN_AMD_AQLPROFILE_BLOCK_NAME_CPF, CounterBlock::kCpf},
};

std::optional<Wanted> wanted_of(const hsa_ven_amd_aqlprofile_event_t& event) {
  for (const BlockName& each : kBlocks) {
    if (each.id == event.block_name) return Wanted{each.block, event.block_index, event.counter_id};
  }
  return std::nullopt;
}

// nullopt if the agent is not a GPU of the family that these commands are for.
std::optional<CounterGeometry> geometry_of(hsa_agent_t agent) {
  char name[64] = {};
  uint32_t engines = 0, units = 0;
  const auto ask = [&](uint32_t what, void* value) {
    return hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(what), value) ==
           HSA_STATUS_SUCCESS;
  };
  if (!ask(HSA_AGENT_INFO_NAME, name) || !ask(HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES, &engines) ||
      !ask(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &units))
    return std::nullopt;
  const auto family = counter_family(name);
  if (!family || engines == 0 || units == 0) return std::nullopt;
  return CounterGeometry{engines, units, *family == CounterFamily::kGfx900 ? 16U : 32U, *family};
}

uint32_t aligned(size_t bytes) {
  return (static_cast<uint32_t>(bytes) + kAlignment - 1) & ~(kAlignment - 1);
}

// The contents of a profile, and its commands: start, read, stop, each aligned.
struct Session {
  CounterGeometry geometry;
  std::vector<Selected> selected;
  Commands parts[3];

  uint32_t offset(int part) const {
    uint32_t bytes = 0;
    for (int i = 0; i < part; ++i) bytes += aligned(parts[i].size() * 4);
    return bytes;
  }
  uint32_t command_bytes() const { return offset(3); }
  uint32_t output_bytes() const { return values_of(selected, geometry) * 8; }
};

hsa_status_t open_session(const hsa_ven_amd_aqlprofile_profile_t* profile, Session& session) {
  if (profile == nullptr) return fail("no profile", HSA_STATUS_ERROR_INVALID_ARGUMENT);
  if (profile->type != HSA_VEN_AMD_AQLPROFILE_EVENT_TYPE_PMC)
    return fail("thread traces are not supported by this library");
  const auto geometry = geometry_of(profile->agent);
  if (!geometry) return fail("the agent is not a gfx9 GPU");
  std::vector<Wanted> wanted;
  for (uint32_t i = 0; i < profile->event_count; ++i) {
    const auto each = wanted_of(profile->events[i]);
    if (!each) return fail("an event's block is unknown");
    wanted.push_back(*each);
  }
  auto selected = select(wanted, *geometry);
  if (!selected)
    return fail("an event cannot be counted, or a block has too few registers for its events");
  session.geometry = *geometry;
  session.selected = std::move(*selected);
  const auto output = reinterpret_cast<uint64_t>(profile->output_buffer.ptr);
  session.parts[0] = start_commands(session.selected);
  session.parts[1] = read_commands(session.selected, *geometry, output);
  session.parts[2] = stop_commands(session.selected, *geometry, output);
  return HSA_STATUS_SUCCESS;
}

// Fills in the commands and the packet that jumps to them.
hsa_status_t write_part(const hsa_ven_amd_aqlprofile_profile_t* profile, int part,
                        hsa_ext_amd_aql_pm4_packet_t* packet) {
  Session session;
  if (const hsa_status_t status = open_session(profile, session); status != HSA_STATUS_SUCCESS)
    return status;
  if (packet == nullptr) return fail("no packet", HSA_STATUS_ERROR_INVALID_ARGUMENT);
  if (profile->command_buffer.ptr == nullptr ||
      profile->command_buffer.size < session.command_bytes() ||
      profile->output_buffer.ptr == nullptr || profile->output_buffer.size < session.output_bytes())
    return fail("a buffer of the profile is missing or too small",
                HSA_STATUS_ERROR_INVALID_ARGUMENT);
  auto* const to = static_cast<char*>(profile->command_buffer.ptr) + session.offset(part);
  const Commands& commands = session.parts[part];
  std::memcpy(to, commands.data(), commands.size() * 4);
  const auto address = reinterpret_cast<uint64_t>(to);
  // AMD's format 1: a PM4 INDIRECT_BUFFER, and the number of dwords that remain of the packet.
  const uint32_t jump[5] = {3U << 30 | 2U << 16 | 0x3fU << 8, static_cast<uint32_t>(address),
                            static_cast<uint32_t>(address >> 32) & 0xffff,
                            static_cast<uint32_t>(commands.size()) | 1U << 23, 10};
  std::memset(packet->pm4_command, 0, sizeof(packet->pm4_command));
  packet->pm4_command[0] = 1;
  std::memcpy(&packet->pm4_command[1], jump, sizeof(jump));
  return HSA_STATUS_SUCCESS;
}

// Calls use(event, engine, value) for each value of the output buffer, until it returns false.
template <class F>
void each_value(const hsa_ven_amd_aqlprofile_profile_t& profile, const Session& session, F&& use) {
  const auto* value = static_cast<const uint64_t*>(profile.output_buffer.ptr);
  for (uint32_t i = 0; i < profile.event_count; ++i) {
    const uint32_t engines = session.geometry.engines_of(session.selected[i].block->block);
    for (uint32_t engine = 0; engine < engines; ++engine) {
      if (!use(profile.events[i], engine, *value++)) return;
    }
  }
}

bool equal(const hsa_ven_amd_aqlprofile_event_t& a, const hsa_ven_amd_aqlprofile_event_t& b) {
  return a.block_name == b.block_name && a.block_index == b.block_index &&
         a.counter_id == b.counter_id;
}

hsa_status_t find_block(const hsa_ven_amd_aqlprofile_profile_t& profile,
                        hsa_ven_amd_aqlprofile_id_query_t& query) {
  const auto geometry = geometry_of(profile.agent);
  if (!geometry || query.name == nullptr) return fail("no such block");
  for (const BlockName& each : kBlocks) {
    if (name_of(each.block) != query.name) continue;
    query.id = each.id;
    query.instance_count = geometry->instances_of(each.block);
    return HSA_STATUS_SUCCESS;
  }
  return fail("no such block");
}

hsa_status_t count_registers(const hsa_ven_amd_aqlprofile_profile_t& profile, uint32_t& count) {
  if (profile.event_count == 0) return fail("no event says which block");
  const auto wanted = wanted_of(profile.events[0]);
  for (const PerfBlock& each : perf_blocks()) {
    if (!wanted || each.block != wanted->block) continue;
    count = static_cast<uint32_t>(each.selects.size());
    return HSA_STATUS_SUCCESS;
  }
  return fail("no such block");
}

}  // namespace
}  // namespace softgpu::aqlprofile

using namespace softgpu::aqlprofile;

extern "C" {

uint32_t hsa_ven_amd_aqlprofile_version_major() { return HSA_AQLPROFILE_VERSION_MAJOR; }
uint32_t hsa_ven_amd_aqlprofile_version_minor() { return HSA_AQLPROFILE_VERSION_MINOR; }

hsa_status_t hsa_ven_amd_aqlprofile_error_string(const char** text) {
  if (text == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  *text = last_error.c_str();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_ven_amd_aqlprofile_validate_event(hsa_agent_t agent,
                                                   const hsa_ven_amd_aqlprofile_event_t* event,
                                                   bool* result) {
  if (event == nullptr || result == nullptr)
    return fail("no event", HSA_STATUS_ERROR_INVALID_ARGUMENT);
  *result = false;
  const auto geometry = geometry_of(agent);
  if (!geometry) return fail("the agent is not a gfx9 GPU");
  const auto wanted = wanted_of(*event);
  *result = wanted && countable(*wanted, *geometry) != nullptr;
  return HSA_STATUS_SUCCESS;
}

// Without a packet it only returns the required buffer sizes.
hsa_status_t hsa_ven_amd_aqlprofile_start(hsa_ven_amd_aqlprofile_profile_t* profile,
                                          hsa_ext_amd_aql_pm4_packet_t* packet) {
  if (packet != nullptr) return write_part(profile, 0, packet);
  Session session;
  const hsa_status_t status = open_session(profile, session);
  if (status != HSA_STATUS_SUCCESS) return status;
  profile->command_buffer.size = session.command_bytes();
  profile->output_buffer.size = session.output_bytes();
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_ven_amd_aqlprofile_stop(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                         hsa_ext_amd_aql_pm4_packet_t* packet) {
  return write_part(profile, 2, packet);
}
hsa_status_t hsa_ven_amd_aqlprofile_read(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                         hsa_ext_amd_aql_pm4_packet_t* packet) {
  return write_part(profile, 1, packet);
}
hsa_status_t hsa_ven_amd_aqlprofile_legacy_get_pm4(const hsa_ext_amd_aql_pm4_packet_t*, void*) {
  return fail("no GPU of this family needs it");
}

hsa_status_t hsa_ven_amd_aqlprofile_get_info(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                             hsa_ven_amd_aqlprofile_info_type_t attribute,
                                             void* value) {
  if (profile == nullptr || value == nullptr)
    return fail("no profile or no value", HSA_STATUS_ERROR_INVALID_ARGUMENT);
  if (attribute == HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID)
    return find_block(*profile, *static_cast<hsa_ven_amd_aqlprofile_id_query_t*>(value));
  if (attribute == HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_COUNTERS)
    return count_registers(*profile, *static_cast<uint32_t*>(value));
  Session session;
  if (const hsa_status_t status = open_session(profile, session); status != HSA_STATUS_SUCCESS)
    return status;
  switch (attribute) {
    case HSA_VEN_AMD_AQLPROFILE_INFO_COMMAND_BUFFER_SIZE:
      *static_cast<uint32_t*>(value) = session.command_bytes();
      return HSA_STATUS_SUCCESS;
    case HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA_SIZE:
      *static_cast<uint32_t*>(value) = session.output_bytes();
      return HSA_STATUS_SUCCESS;
    case HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA: {
      auto& info = *static_cast<hsa_ven_amd_aqlprofile_info_data_t*>(value);
      info.pmc_data.result = 0;
      each_value(*profile, session,
                 [&](const hsa_ven_amd_aqlprofile_event_t& event, uint32_t, uint64_t counted) {
                   if (equal(event, info.pmc_data.event)) info.pmc_data.result += counted;
                   return true;
                 });
      return HSA_STATUS_SUCCESS;
    }
    default:
      return fail("this library does not have that");
  }
}

// sample_id is the shader engine.
hsa_status_t hsa_ven_amd_aqlprofile_iterate_data(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                                 hsa_ven_amd_aqlprofile_data_callback_t callback,
                                                 void* data) {
  Session session;
  hsa_status_t status = open_session(profile, session);
  if (status != HSA_STATUS_SUCCESS) return status;
  if (callback == nullptr) return fail("no callback", HSA_STATUS_ERROR_INVALID_ARGUMENT);
  each_value(*profile, session,
             [&](const hsa_ven_amd_aqlprofile_event_t& event, uint32_t engine, uint64_t counted) {
               hsa_ven_amd_aqlprofile_info_data_t info{};
               info.sample_id = engine;
               info.pmc_data.event = event;
               info.pmc_data.result = counted;
               status = callback(HSA_VEN_AMD_AQLPROFILE_INFO_PMC_DATA, &info, data);
               return status == HSA_STATUS_SUCCESS;
             });
  return status == HSA_STATUS_INFO_BREAK ? HSA_STATUS_SUCCESS : status;
}

}  // extern "C"
