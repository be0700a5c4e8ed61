// Background: works on blocks in a second thread while the caller fills the next one. Used where
// exporters compress and write. Blocks are worked on one at a time, in the order they are given.
// The thread starts with the first block, so small outputs do without; where none can be started
// the caller does the work itself.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/pinned.h"

namespace sonde::exporting {

template <typename Block>
class Background : Pinned {
 public:
  // `spare` is what the caller gets back for its first block.
  Background(Block spare, std::function<void(Block&)> work)
      : work_(std::move(work)), block_(std::move(spare)) {}
  ~Background() { finish(); }

  // Takes `block`, and leaves one there that was worked on. Waits for the block before.
  void give(Block& block) {
    if (!thread_.joinable()) start();
    std::unique_lock lock(mutex_);
    wait_until_done(lock);
    std::swap(block, block_);
    given_ = true;
    if (!thread_.joinable()) return work_on(lock);
    lock.unlock();
    changed_.notify_one();
  }

  // All that was given is done when this returns.
  void finish() {
    if (!thread_.joinable()) return;
    std::unique_lock lock(mutex_);
    wait_until_done(lock);
    last_ = true;
    lock.unlock();
    changed_.notify_one();
    thread_.join();
    last_ = false;
  }

 private:
  void start() {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // a limit on threads: see give()
    }
  }
  void wait_until_done(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return !given_; });
  }
  void work_on(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    work_(block_);
    lock.lock();
    given_ = false;
  }
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return given_ || last_; });
      if (!given_) return;
      work_on(lock);
      changed_.notify_one();
    }
  }

  const std::function<void(Block&)> work_;
  Block block_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool given_ = false;  // block_ waits for the thread, or the thread is at it
  bool last_ = false;
};

}  // namespace sonde::exporting
