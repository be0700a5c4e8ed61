// Faults of a device: what the runtime reports before it, HIP or the program terminates the
// process. What had finished by then is recorded, and the fault is recorded as a diagnostic.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/queues.h"
#include "base/errno_keeper.h"
#include "wire/fault_reasons.h"

namespace sonde::hsa {
namespace {

constexpr int kTries = 200;
constexpr timespec kPause = {0, 1'000'000};

int gpu_of(const Device* device) { return device != nullptr ? device->gpu_id : -1; }

// Includes what another thread is just recording: the process may not live until it is done. An op
// on a signal of the program is collected at the second look.
void collect_before_death() {
  collect_everything();
  for (Queue* queue = g_queues.load(std::memory_order_acquire); queue != nullptr;
       queue = queue->next) {
    for (int i = 0; i < kTries && queue->collecting.load(std::memory_order_acquire); ++i) {
      nanosleep(&kPause, nullptr);
    }
  }
  collect_everything();
}

}  // namespace

// The callback of a queue and its data, as given by the program.
struct QueueErrors {
  QueueCallback callback;
  void* data;
  const Device* device;
};

QueueErrors* watch_errors(QueueCallback callback, void* data, const Device* device) {
  auto* errors = static_cast<QueueErrors*>(malloc(sizeof(QueueErrors)));
  if (errors != nullptr) *errors = {callback, data, device};
  return errors;
}

void on_queue_error(Status status, QueueMemory* queue, void* data) {
  const QueueErrors errors = *static_cast<QueueErrors*>(data);  // the program may destroy the queue
  if (status != kSuccess) {
    const ErrnoKeeper keep;
    collect_before_death();
    const char* reason = nullptr;
    if (next().status_string(status, &reason) != kSuccess || reason == nullptr) reason = "unknown";
    char text[300];
    snprintf(text, sizeof text, "a queue of GPU %d stopped with error 0x%x: %s",
             gpu_of(errors.device), static_cast<unsigned>(status), reason);
    rocm::report(SONDE_ERROR, kSource, text);
    note_fault({wire::kBoardQueueError, gpu_of(errors.device), queue_of(queue),
                static_cast<uint32_t>(status), 0, 0, reason});
  }
  if (errors.callback != nullptr) errors.callback(status, queue, errors.data);
}

// The runtime aborts the program next, unless another handler claims to have dealt with the fault.
Status on_system_event(const SystemEvent* event, void*) {
  const ErrnoKeeper keep;
  collect_before_death();
  if (event == nullptr || event->type != 0) return kError;
  char text[400];
  int used = snprintf(text, sizeof text, "memory access fault on GPU %d at address 0x%lx:",
                      gpu_of(device_of(event->agent)), event->address);
  const char* separator = " ";
  for (const wire::FaultReason& reason : wire::kFaultReasons) {
    if ((event->reasons & reason.bit) == 0) continue;
    used += snprintf(text + used, sizeof text - static_cast<size_t>(used), "%s%s", separator,
                     reason.text);
    separator = ", ";
  }
  rocm::report(SONDE_ERROR, kSource, text);
  note_fault({wire::kBoardMemoryFault, gpu_of(device_of(event->agent)), nullptr, 0, event->reasons,
              event->address, text});
  return kError;
}

}  // namespace sonde::hsa
