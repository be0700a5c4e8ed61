#include "http/cpp_httplib/bounded_queue.h"

#include <utility>

namespace sonde::http {

BoundedQueue::BoundedQueue(size_t threads, size_t waiting, std::function<void()> look)
    : most_(waiting), look_(std::move(look)), idle_(threads) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

BoundedQueue::Enqueued BoundedQueue::enqueue(std::function<void()> task) {
  look_();
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < idle_ + most_) {
      waiting_.push_back(std::move(task));
      changed_.notify_one();
      return Enqueued(true);
    }
  }
  task();
  return Enqueued(true);
}

void BoundedQueue::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool BoundedQueue::has_waiting() {
  const std::lock_guard lock(mutex_);
  return waiting_.size() > idle_;
}

void BoundedQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    --idle_;
    lock.unlock();
    task();
    lock.lock();
    ++idle_;
  }
}

}  // namespace sonde::http
