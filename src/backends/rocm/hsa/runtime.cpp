// Start and end of the HSA part.
//
// The runtime notifies its tools when it ends (OnUnload), but not a tool that got its tables
// through rocprofiler-register. So calls of hsa_init() and hsa_shut_down() are counted here: the
// last shut-down is the last moment at which signals can be read.
#include "backends/rocm/hsa/runtime.h"

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/counting.h"
#include "backends/rocm/hsa/queues.h"
#include "base/errno_keeper.h"

namespace sonde::hsa {

Functions g_next;
std::atomic<bool> g_dormant;

namespace {

// The newest versions whose layout is known.
constexpr uint32_t kRootMajor = 3, kTableMajor = 2;

pid_t g_pid;  // the process whose runtime this is: a forked child has none
std::atomic<bool> g_loaded;
const void* g_core;  // of the runtime's table
std::atomic<uint32_t> g_loads;
std::atomic<int> g_users;  // successful calls of hsa_init() minus those of hsa_shut_down()

bool is_ours() { return g_pid != 0 && g_pid == getpid(); }

bool answers() {
  uint64_t frequency = 0;
  return next().system_get_info(kSystemTimestampFrequency, &frequency) == kSuccess;
}

Status init() {
  const uint32_t loads = g_loads.load();
  const Status status = next().init();
  // If the call loaded tools, load() has counted it.
  if (status == kSuccess && g_loads.load() == loads) g_users.fetch_add(1);
  return status;
}

void count_lost(uint64_t ops) {
  if (ops != 0) agent().dropped("ops unfinished at the end of the runtime", ops);
}

Status shut_down() {
  if (!is_ours()) return next().shut_down();
  const bool last = g_users.fetch_sub(1) == 1;
  if (last) unload();
  const Status status = next().shut_down();
  const ErrnoKeeper keep;
  if (status != kSuccess) {
    g_users.fetch_add(1);
  } else if (last && answers()) {
    g_users.store(1);  // initialised by a caller that bypasses our hook
    g_loaded.store(true);
  } else if (last) {
    count_lost(lose_copies());
  }
  return status;
}

bool report_unknown(const ApiTable& table) {
  static std::atomic<bool> reported;
  if (reported.exchange(true)) return false;
  TableVersion core = {}, amd = {};
  if (table.core != nullptr) __builtin_memcpy(&core, table.core, sizeof core);
  if (table.amd != nullptr) __builtin_memcpy(&amd, table.amd, sizeof amd);
  char text[200];
  snprintf(text, sizeof text,
           "the HSA runtime's table (version %u.%u.%u, %u bytes) is unknown to this version of "
           "Sonde: kernels and copies are taken from HIP where it reports them",
           table.version.major_id, core.major_id, amd.major_id, amd.minor_id);
  rocm::report(SONDE_WARNING, kSource, text);
  return false;
}

bool report_second() {
  rocm::report(SONDE_WARNING, kSource,
               "the process has a second HSA runtime: its work is not recorded");
  return true;
}

bool knows_version(const ApiTable& table) {
  TableVersion core, amd;
  __builtin_memcpy(&core, table.core, sizeof core);
  __builtin_memcpy(&amd, table.amd, sizeof amd);
  return table.version.major_id <= kRootMajor && core.major_id <= kTableMajor &&
         amd.major_id <= kTableMajor;
}

}  // namespace

bool is_open() { return g_loaded.load(std::memory_order_acquire) && answers(); }

bool load(ApiTable* table, bool ops) {
  // A runtime passes its tables in two ways.
  if (g_loaded.load()) return is_ours() && (table->core == g_core || report_second());
  Functions functions;
  if (!read_tables(*table, &functions) || !knows_version(*table)) return report_unknown(*table);
  const bool hooked = is_hooked(functions);  // hooks of an earlier start that the runtime kept
  if (!hooked) g_next = functions;
  Functions hooks = {};
  hook_handlers(&hooks);
  if (!ops) {
    write_tables(*table, hooks);
    return false;
  }
  g_pid = getpid();
  g_core = table->core;
  g_users.store(1);
  g_loads.fetch_add(1);
  find_clock();
  find_devices();
  if (!rocm::g_attached) open_board();
  define_calls();
  hook_queues(&hooks);
  hook_waits(&hooks);
  hook_copies(&hooks);
  hook_kernels(&hooks);
  hook_memory(&hooks);
  hook_doorbells(&hooks);
  hooks.init = init;
  hooks.shut_down = shut_down;
  // This cannot be undone.
  if (!rocm::g_attached) next().register_system_event_handler(on_system_event, nullptr);
  if (!hooked && rocm::g_attached) {  // before the first kernel of a queue that we see
    Functions first = {};
    hook_kernels(&first);
    write_tables(*table, first);
    learn_kernels();
  }
  if (!hooked) write_tables(*table, hooks);
  g_loaded.store(true, std::memory_order_release);
  return true;
}

const char* begin_attached(ApiTable* table, bool ops) {
  if (!ops) {
    load(table, false);
    return nullptr;
  }
  g_dormant.store(false);
  const bool is_again = g_loaded.load();
  if (!load(table, true) || !is_ours()) return "the version of its runtime is unknown";
  rocm::g_hsa_reports_ops = true;
  if (is_again) learn_kernels();
  start_collector();
  return nullptr;
}

void end_attached() {
  if (!is_ours() || dormant()) return;
  collect_everything();
  g_dormant.store(true);
  rocm::g_hsa_reports_ops = false;
  end_collector();
}

void unload() {
  if (!is_ours() || !g_loaded.exchange(false)) return;
  const ErrnoKeeper keep;
  collect_everything();
  count_lost(retire_queues() + lose_program_signals(nullptr));
}

void collect_last() {
  if (!is_ours() || !is_open()) return;
  if (counting()) settle_counted(nullptr);
  collect_everything();
  const uint64_t left = settle_recording();
  if (left != 0) agent().dropped("ops still being recorded when the program ended", left);
}

}  // namespace sonde::hsa
