// attach PID: AMD's debugger library on a process of the same session: attaches, lists
// architectures' names, agents and queues, stops and goes on, detaches.
#include <amd-dbgapi/amd-dbgapi.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

pid_t target;

amd_dbgapi_status_t target_pid(amd_dbgapi_client_process_id_t, amd_dbgapi_os_process_id_t* pid) {
  *pid = target;
  return AMD_DBGAPI_STATUS_SUCCESS;
}
amd_dbgapi_status_t set_breakpoint(amd_dbgapi_client_process_id_t, amd_dbgapi_global_address_t,
                                   amd_dbgapi_breakpoint_id_t) {
  return AMD_DBGAPI_STATUS_SUCCESS;  // the program loads nothing more
}
amd_dbgapi_status_t clear_breakpoint(amd_dbgapi_client_process_id_t, amd_dbgapi_breakpoint_id_t) {
  return AMD_DBGAPI_STATUS_SUCCESS;
}
void show(amd_dbgapi_log_level_t, const char* message) {
  std::fprintf(stderr, "dbgapi: %s\n", message);
}

bool good(amd_dbgapi_status_t status, const char* what) {
  if (status == AMD_DBGAPI_STATUS_SUCCESS) return true;
  std::printf("FAILED: %s: %d\n", what, static_cast<int>(status));
  return false;
}

void list(amd_dbgapi_process_id_t process) {
  size_t count = 0;
  amd_dbgapi_agent_id_t* agents = nullptr;
  if (good(amd_dbgapi_process_agent_list(process, &count, &agents, nullptr), "agents")) {
    for (size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      if (good(amd_dbgapi_agent_get_info(agents[i], AMD_DBGAPI_AGENT_INFO_NAME, sizeof name, &name),
               "name")) {
        std::printf("agent %s\n", name);
      }
    }
  }
  amd_dbgapi_queue_id_t* queues = nullptr;
  if (good(amd_dbgapi_process_queue_list(process, &count, &queues, nullptr), "queues")) {
    for (size_t i = 0; i < count; ++i) {
      amd_dbgapi_os_queue_type_t type{};
      amd_dbgapi_size_t bytes = 0;
      good(amd_dbgapi_queue_get_info(queues[i], AMD_DBGAPI_QUEUE_INFO_TYPE, sizeof type, &type),
           "type");
      good(amd_dbgapi_queue_get_info(queues[i], AMD_DBGAPI_QUEUE_INFO_SIZE, sizeof bytes, &bytes),
           "size");
      std::printf("queue of type %d, %" PRIu64 " bytes\n", static_cast<int>(type), bytes);
    }
  }
  amd_dbgapi_code_object_id_t* objects = nullptr;
  if (good(amd_dbgapi_process_code_object_list(process, &count, &objects, nullptr), "objects")) {
    std::printf("code objects: %zu\n", count);
  }
  amd_dbgapi_wave_id_t* waves = nullptr;
  if (good(amd_dbgapi_process_wave_list(process, &count, &waves, nullptr), "waves")) {
    std::printf("waves: %zu\n", count);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  target = std::atoi(argv[1]);
  amd_dbgapi_callbacks_t callbacks{};
  callbacks.allocate_memory = [](size_t bytes) { return std::malloc(bytes); };
  callbacks.deallocate_memory = [](void* memory) { std::free(memory); };
  callbacks.get_os_pid = target_pid;
  callbacks.insert_breakpoint = set_breakpoint;
  callbacks.remove_breakpoint = clear_breakpoint;
  callbacks.log_message = show;
  amd_dbgapi_set_log_level(argc > 2 ? AMD_DBGAPI_LOG_LEVEL_VERBOSE : AMD_DBGAPI_LOG_LEVEL_WARNING);
  if (!good(amd_dbgapi_initialize(&callbacks), "initialize")) return 1;
  if (ptrace(PTRACE_SEIZE, target, nullptr, nullptr) != 0) {
    std::perror("ptrace");
    return 1;
  }
  amd_dbgapi_process_id_t process{};
  const auto client = reinterpret_cast<amd_dbgapi_client_process_id_t>(&target);
  if (!good(amd_dbgapi_process_attach(client, &process), "attach")) return 1;
  std::puts("attached");
  amd_dbgapi_event_id_t event{};
  amd_dbgapi_event_kind_t kind{};
  while (amd_dbgapi_process_next_pending_event(process, &event, &kind) ==
             AMD_DBGAPI_STATUS_SUCCESS &&
         kind != AMD_DBGAPI_EVENT_KIND_NONE) {
    std::printf("event of kind %d\n", static_cast<int>(kind));
    good(amd_dbgapi_event_processed(event), "event");
  }
  list(process);
  good(amd_dbgapi_process_set_progress(process, AMD_DBGAPI_PROGRESS_NO_FORWARD), "stop");
  list(process);
  good(amd_dbgapi_process_set_progress(process, AMD_DBGAPI_PROGRESS_NORMAL), "go on");
  if (!good(amd_dbgapi_process_detach(process), "detach")) return 1;
  good(amd_dbgapi_finalize(), "finalize");
  std::puts("detached");
  return 0;
}
