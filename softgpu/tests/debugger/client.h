// What a program needs to use AMD's debugger library on a process.
#pragma once

#include <amd-dbgapi/amd-dbgapi.h>
#include <sys/ptrace.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline pid_t target;

inline bool good(amd_dbgapi_status_t status, const char* what) {
  if (status == AMD_DBGAPI_STATUS_SUCCESS) return true;
  std::printf("FAILED: %s: %d\n", what, static_cast<int>(status));
  return false;
}

// Exits on failure.
inline amd_dbgapi_process_id_t attach_to(pid_t pid, bool verbose) {
  target = pid;
  amd_dbgapi_callbacks_t callbacks{};
  callbacks.allocate_memory = [](size_t bytes) { return std::malloc(bytes); };
  callbacks.deallocate_memory = [](void* memory) { std::free(memory); };
  callbacks.get_os_pid = [](amd_dbgapi_client_process_id_t, amd_dbgapi_os_process_id_t* own) {
    *own = target;
    return AMD_DBGAPI_STATUS_SUCCESS;
  };
  // The program loads nothing more, so breakpoints are never hit.
  callbacks.insert_breakpoint = [](amd_dbgapi_client_process_id_t, amd_dbgapi_global_address_t,
                                   amd_dbgapi_breakpoint_id_t) {
    return AMD_DBGAPI_STATUS_SUCCESS;
  };
  callbacks.remove_breakpoint = [](amd_dbgapi_client_process_id_t, amd_dbgapi_breakpoint_id_t) {
    return AMD_DBGAPI_STATUS_SUCCESS;
  };
  callbacks.log_message = [](amd_dbgapi_log_level_t, const char* message) {
    std::fprintf(stderr, "dbgapi: %s\n", message);
  };
  amd_dbgapi_set_log_level(verbose ? AMD_DBGAPI_LOG_LEVEL_VERBOSE : AMD_DBGAPI_LOG_LEVEL_WARNING);
  if (!good(amd_dbgapi_initialize(&callbacks), "initialize")) std::exit(1);
  if (ptrace(PTRACE_SEIZE, target, nullptr, nullptr) != 0) {
    std::perror("ptrace");
    std::exit(1);
  }
  amd_dbgapi_process_id_t process{};
  const auto client = reinterpret_cast<amd_dbgapi_client_process_id_t>(&target);
  if (!good(amd_dbgapi_process_attach(client, &process), "attach")) std::exit(1);
  return process;
}

// Prints the pending events and marks them as processed.
inline int take_events(amd_dbgapi_process_id_t process) {
  int count = 0;
  amd_dbgapi_event_id_t event{};
  amd_dbgapi_event_kind_t kind{};
  while (amd_dbgapi_process_next_pending_event(process, &event, &kind) ==
             AMD_DBGAPI_STATUS_SUCCESS &&
         kind != AMD_DBGAPI_EVENT_KIND_NONE) {
    std::printf("event of kind %d\n", static_cast<int>(kind));
    good(amd_dbgapi_event_processed(event), "event");
    ++count;
  }
  return count;
}

inline std::vector<amd_dbgapi_wave_id_t> waves_of(amd_dbgapi_process_id_t process) {
  size_t count = 0;
  amd_dbgapi_wave_id_t* waves = nullptr;
  if (!good(amd_dbgapi_process_wave_list(process, &count, &waves, nullptr), "waves")) return {};
  return {waves, waves + count};
}
