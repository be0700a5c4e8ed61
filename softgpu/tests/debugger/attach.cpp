// attach PID: uses AMD's debugger library on a process of the same session: attaches, lists
// architectures, agents and queues, stops and resumes, detaches.
#include <cinttypes>

#include "client.h"

namespace {

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
  std::printf("waves: %zu\n", waves_of(process).size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const amd_dbgapi_process_id_t process = attach_to(std::atoi(argv[1]), argc > 2);
  std::puts("attached");
  take_events(process);
  list(process);
  good(amd_dbgapi_process_set_progress(process, AMD_DBGAPI_PROGRESS_NO_FORWARD), "stop");
  list(process);
  good(amd_dbgapi_process_set_progress(process, AMD_DBGAPI_PROGRESS_NORMAL), "go on");
  if (!good(amd_dbgapi_process_detach(process), "detach")) return 1;
  good(amd_dbgapi_finalize(), "finalize");
  std::puts("detached");
  return 0;
}
