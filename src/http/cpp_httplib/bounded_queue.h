// The threads of the server, and the connections that wait for one. cpp-httplib's own queue grows
// without bound.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace sonde::http {

class BoundedQueue : public httplib::TaskQueue {
 public:
  // `look` is called by the thread that accepts, at every connection and when there has been none
  // for a while.
  BoundedQueue(size_t threads, size_t waiting, std::function<void()> look);
  ~BoundedQueue() override { shutdown(); }

  // Whether a task was taken, in later versions of the library; void before.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  // A task too many runs at once, on the thread that accepts, which refuses it.
  Enqueued enqueue(std::function<void()> task) override;
  void shutdown() override;
  void on_idle() override { look_(); }

  bool has_waiting();

 private:
  void work();

  const size_t most_;
  const std::function<void()> look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  size_t idle_ = 0;  // threads without a task
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sonde::http
