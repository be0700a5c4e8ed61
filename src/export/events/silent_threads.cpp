#include "export/events/silent_threads.h"

#include <set>

namespace sonde::exporting {

std::vector<Thread> silent_threads(const Events& events) {
  std::vector<bool> calls(events.threads.size());
  for (size_t i = 0; i < events.api_count(); ++i) calls[events.apis[i].thread] = true;
  std::set<int64_t> pids;
  for (const Process& process : events.processes) pids.insert(process.pid);
  std::vector<Thread> silent;
  for (size_t i = 0; i < calls.size(); ++i) {
    const Thread& thread = events.threads[i];
    if (!calls[i] && pids.count(thread.pid) > 0) silent.push_back(thread);
  }
  return silent;
}

}  // namespace sonde::exporting
