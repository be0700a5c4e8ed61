// Start and end of the HSA backend.
#include "backends/hsa/runtime.h"

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "backends/hsa/queues.h"

namespace sonde::hsa {

Functions g_next;

namespace {

pid_t g_pid;  // of the process whose runtime this is: a forked child has none

}  // namespace

bool load(ApiTable* table, bool ops) {
  Functions functions;
  const bool known = read_tables(*table, &functions);
  // A runtime may hand out its tables in two ways, and anew after an end.
  if (known && is_hooked(functions)) return g_pid != 0;
  if (known) g_next = functions;
  if (!known) {
    TableVersion amd = {};
    if (table->amd != nullptr) __builtin_memcpy(&amd, table->amd, sizeof amd);
    char text[160];
    snprintf(text, sizeof text,
             "the HSA runtime's table (%u bytes) is not one this version of Sonde knows: kernels "
             "and copies are taken from HIP where it reports them",
             amd.minor_id);
    rocm::report(SONDE_WARNING, kSource, text);
    return false;
  }
  Functions hooks = {};
  hook_handlers(&hooks);
  if (!ops) {
    write_tables(*table, hooks);
    return false;
  }
  g_pid = getpid();
  find_clock();
  find_devices();
  define_calls();
  hook_queues(&hooks);
  hook_waits(&hooks);
  hook_copies(&hooks);
  hook_kernels(&hooks);
  hook_memory(&hooks);
  next().register_system_event_handler(on_system_event, nullptr);
  write_tables(*table, hooks);
  return true;
}

void unload() {
  if (g_pid == 0 || g_pid != getpid()) return;
  collect_everything();
  destroy_signals();
}

void collect_last() {
  if (g_pid == 0 || g_pid != getpid()) return;
  collect_everything();
}

}  // namespace sonde::hsa
