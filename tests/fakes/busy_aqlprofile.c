// libhsa-amd-aqlprofile64.so of a GPU whose counters another process has: it knows all events and
// starts none.
#include <hsa/hsa_ven_amd_aqlprofile.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT uint32_t hsa_ven_amd_aqlprofile_version_major(void) { return HSA_AQLPROFILE_VERSION_MAJOR; }
EXPORT uint32_t hsa_ven_amd_aqlprofile_version_minor(void) { return HSA_AQLPROFILE_VERSION_MINOR; }

EXPORT hsa_status_t hsa_ven_amd_aqlprofile_error_string(const char** text) {
  *text = "the counters are in use";
  return HSA_STATUS_SUCCESS;
}

EXPORT hsa_status_t hsa_ven_amd_aqlprofile_validate_event(
    hsa_agent_t agent, const hsa_ven_amd_aqlprofile_event_t* event, bool* result) {
  (void)agent, (void)event;
  *result = true;
  return HSA_STATUS_SUCCESS;
}

EXPORT hsa_status_t hsa_ven_amd_aqlprofile_start(hsa_ven_amd_aqlprofile_profile_t* profile,
                                                 hsa_ext_amd_aql_pm4_packet_t* packet) {
  (void)profile, (void)packet;
  return HSA_STATUS_ERROR;
}

EXPORT hsa_status_t hsa_ven_amd_aqlprofile_stop(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                                hsa_ext_amd_aql_pm4_packet_t* packet) {
  (void)profile, (void)packet;
  return HSA_STATUS_ERROR;
}

EXPORT hsa_status_t hsa_ven_amd_aqlprofile_read(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                                hsa_ext_amd_aql_pm4_packet_t* packet) {
  (void)profile, (void)packet;
  return HSA_STATUS_ERROR;
}

EXPORT hsa_status_t
hsa_ven_amd_aqlprofile_legacy_get_pm4(const hsa_ext_amd_aql_pm4_packet_t* packet, void* data) {
  (void)packet, (void)data;
  return HSA_STATUS_ERROR;
}

EXPORT hsa_status_t hsa_ven_amd_aqlprofile_get_info(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                                    hsa_ven_amd_aqlprofile_info_type_t attribute,
                                                    void* value) {
  (void)profile;
  if (attribute != HSA_VEN_AMD_AQLPROFILE_INFO_BLOCK_ID) return HSA_STATUS_ERROR;
  hsa_ven_amd_aqlprofile_id_query_t* query = value;
  query->id = 11;
  query->instance_count = 1;
  return HSA_STATUS_SUCCESS;
}

EXPORT hsa_status_t
hsa_ven_amd_aqlprofile_iterate_data(const hsa_ven_amd_aqlprofile_profile_t* profile,
                                    hsa_ven_amd_aqlprofile_data_callback_t callback, void* data) {
  (void)profile, (void)callback, (void)data;
  return HSA_STATUS_ERROR;
}
