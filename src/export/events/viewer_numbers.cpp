#include "export/events/viewer_numbers.h"

#include <limits>

namespace sonde::exporting {

namespace {

// Perfetto's formats have 32 bits, with a sign in some places and without one in others.
bool fits(int64_t number) { return number >= 0 && number <= std::numeric_limits<int32_t>::max(); }

}  // namespace

ViewerNumbers::ViewerNumbers(const Events& events) {
  for (const Process& process : events.processes) taken_pids_.insert(process.pid);
  for (const Thread& thread : events.threads) tids_[thread.pid].taken.insert(thread.tid);
}

int64_t ViewerNumbers::free_pid() {
  while (!taken_pids_.insert(next_pid_).second) ++next_pid_;
  return next_pid_;
}

int64_t ViewerNumbers::free_tid(int64_t pid) {
  const int64_t main_thread = this->pid(pid);
  Tids& tids = tids_[pid];
  while (tids.next == main_thread || !tids.taken.insert(tids.next).second) ++tids.next;
  return tids.next;
}

int64_t ViewerNumbers::pid(int64_t pid) {
  if (fits(pid)) return pid;
  const auto [moved, is_new] = moved_pids_.try_emplace(pid, 0);
  if (is_new) moved->second = free_pid();
  return moved->second;
}

int64_t ViewerNumbers::tid(int64_t pid, int64_t tid) {
  if (fits(tid) && (tid != 0 || pid == 0)) return tid;
  if (tid == pid) return this->pid(pid);  // the main thread remains it
  std::map<int64_t, int64_t>& moved_tids = tids_[pid].moved;
  const auto [moved, is_new] = moved_tids.try_emplace(tid, 0);
  if (is_new) moved->second = free_tid(pid);
  return moved->second;
}

}  // namespace sonde::exporting
