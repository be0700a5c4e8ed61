// hsa_ven_amd_aqlprofile, the runtime's extension table for AMD's library that knows how to select,
// start and read hardware counters. Version 1, of ROCm 3 to 7. Declared here from the facts of the
// public header. Used by counter_session.cpp only.
#pragma once

#include "backends/rocm/hsa/hsa_abi.h"

namespace sonde::hsa {

constexpr uint16_t kExtensionAqlprofile = 0x202;

struct ProfileEvent {
  uint32_t block;
  uint32_t instance;
  uint32_t counter;
};
struct ProfileBuffer {
  void* ptr;
  uint32_t size;
};
struct Profile {
  AgentHandle agent;
  uint32_t type;  // 0 = counters
  const ProfileEvent* events;
  uint32_t event_count;
  const void* parameters;
  uint32_t parameter_count;
  ProfileBuffer output, commands;
};
// A vendor-specific AQL packet.
struct ProfilePacket {
  uint16_t header;
  uint16_t commands[27];
  Signal completion;
};
static_assert(sizeof(ProfilePacket) == 64);

struct ProfileData {
  uint32_t sample;  // the shader engine, for counters
  uint32_t reserved;
  ProfileEvent event;
  uint64_t result;
};
static_assert(sizeof(ProfileData) == 32);
struct ProfileBlock {
  const char* name;
  uint32_t id;
  uint32_t instances;
};
enum ProfileInfo : uint32_t { kProfileData = 2, kProfileBlock = 5 };
using ProfileVisit = Status (*)(uint32_t info, ProfileData* data, void* user);

struct AqlprofileTable {
  uint32_t (*version_major)();
  uint32_t (*version_minor)();
  Status (*error_string)(const char** text);
  Status (*validate_event)(AgentHandle agent, const ProfileEvent* event, bool* valid);
  Status (*start)(Profile* profile, ProfilePacket* packet);
  Status (*stop)(const Profile* profile, ProfilePacket* packet);
  Status (*read)(const Profile* profile, ProfilePacket* packet);
  Status (*legacy_get_pm4)(const ProfilePacket* packet, void* data);
  Status (*get_info)(const Profile* profile, uint32_t attribute, void* value);
  Status (*iterate_data)(const Profile* profile, ProfileVisit visit, void* data);
};

}  // namespace sonde::hsa
