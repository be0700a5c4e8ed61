// libminimal_tool.so: the least that an HSA tool (HSA_TOOLS_LIB) can do to know when each kernel
// began and ended, by the runtime's documented way. The bench holds Sonde against it.
//
// Queues are intercept queues; a dispatch gets a signal of the tool's, one from a stock, and a
// handler that the runtime calls when it has finished. ROCm 5.2 stops with an assertion when too
// many dispatches are outstanding, so the tool waits then. At the end it says how many it saw.
#define AMD_INTERNAL_BUILD
#include <hsa/hsa_api_trace.h>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <vector>

namespace {

constexpr int kMostOutstanding = 1000;

CoreApiTable core;
AmdExtTable amd;
std::atomic<uint64_t> seen, total_ns;
std::atomic<int> outstanding;

struct Watched {
  hsa_signal_t own, wanted;
  hsa_agent_t agent;
  std::atomic<bool> in_use;
};
std::vector<Watched> stock(kMostOutstanding);
std::atomic<size_t> next_in_stock;

bool finished(hsa_signal_value_t, void* data) {
  auto* watched = static_cast<Watched*>(data);
  hsa_amd_profiling_dispatch_time_t times = {};
  amd.hsa_amd_profiling_get_dispatch_time_fn(watched->agent, watched->own, &times);
  total_ns += times.end - times.start;
  ++seen;
  if (watched->wanted.handle != 0) {
    core.hsa_signal_subtract_screlease_fn(watched->wanted, 1);
  }
  watched->in_use = false;
  --outstanding;
  return false;
}

Watched* take() {
  while (outstanding >= kMostOutstanding) sched_yield();
  ++outstanding;
  for (;;) {
    Watched& watched = stock[next_in_stock++ % stock.size()];
    bool free = false;
    if (!watched.in_use.compare_exchange_strong(free, true)) continue;
    if (watched.own.handle == 0) core.hsa_signal_create_fn(1, 0, nullptr, &watched.own);
    core.hsa_signal_store_relaxed_fn(watched.own, 1);
    return &watched;
  }
}

void intercept(const void* packets, uint64_t count, uint64_t, void* data,
               hsa_amd_queue_intercept_packet_writer write) {
  const auto* packet = static_cast<const hsa_kernel_dispatch_packet_t*>(packets);
  for (uint64_t i = 0; i < count; ++i) {
    hsa_kernel_dispatch_packet_t copy = packet[i];
    if ((copy.header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
      Watched* watched = take();
      watched->agent.handle = reinterpret_cast<uint64_t>(data);
      watched->wanted = copy.completion_signal;
      copy.completion_signal = watched->own;
      amd.hsa_amd_signal_async_handler_fn(watched->own, HSA_SIGNAL_CONDITION_LT, 1, finished,
                                          watched);
    }
    write(&copy, 1);
  }
}

hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                    void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                    uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue) {
  const hsa_status_t status = amd.hsa_amd_queue_intercept_create_fn(
      agent, size, type, callback, data, private_bytes, group_bytes, queue);
  if (status != HSA_STATUS_SUCCESS) return status;
  amd.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
  amd.hsa_amd_queue_intercept_register_fn(*queue, intercept, reinterpret_cast<void*>(agent.handle));
  return status;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) bool OnLoad(HsaApiTable* table, uint64_t,
                                                              uint64_t, const char* const*) {
  core = *table->core_;
  amd = *table->amd_ext_;
  table->core_->hsa_queue_create_fn = create;
  return true;
}

extern "C" __attribute__((visibility("default"))) void OnUnload() {
  std::fprintf(stderr, "minimal tool: %lu kernels, %lu ns\n", seen.load(), total_ns.load());
}
