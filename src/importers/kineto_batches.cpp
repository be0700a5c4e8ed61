#include "importers/kineto_batches.h"

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace sonde::importers {

namespace {

constexpr unsigned kMaxThreads = 4;
constexpr uint64_t kAhead = 3;  // batches that may wait, besides those that are being parsed

unsigned thread_count() {
  const unsigned cores = std::thread::hardware_concurrency();
  return cores < 2 ? 1 : (cores > kMaxThreads ? kMaxThreads : cores);
}

}  // namespace

struct EventBatches::Impl {
  JsonWindows& windows;
  Wants wants;
  std::mutex mutex;  // of all below
  std::condition_variable changed;
  bool reading = false;       // a thread is in windows.next()
  uint64_t windows_read = 0;  // number of the next window
  uint64_t batches_given = 0;
  bool at_end = false, stop = false;
  std::map<uint64_t, EventBatch> done;
  std::optional<Error> error;
  std::exception_ptr exception;
  std::vector<std::thread> threads;

  void work();
  // The next window and its number; nullopt when there are no more.
  std::optional<std::pair<uint64_t, JsonWindow>> take_window();
};

std::optional<std::pair<uint64_t, JsonWindow>> EventBatches::Impl::take_window() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] {
    return stop || at_end || (!reading && windows_read - batches_given < kAhead + threads.size());
  });
  if (stop || at_end) return std::nullopt;
  reading = true;
  lock.unlock();
  auto window = windows.next();
  lock.lock();
  reading = false;
  changed.notify_all();
  if (!window || window->size == 0) {
    at_end = true;
    if (!window) error = window.error();
    return std::nullopt;
  }
  return std::pair(windows_read++, std::move(*window));
}

void EventBatches::Impl::work() {
  try {
    EventParser parser(wants);
    while (auto window = take_window()) {
      EventBatch batch = parser.parse(std::move(window->second));
      const std::scoped_lock lock(mutex);
      done.emplace(window->first, std::move(batch));
      changed.notify_all();
    }
  } catch (...) {  // out of memory; given to the caller's thread
    const std::scoped_lock lock(mutex);
    exception = std::current_exception();
    stop = true;
    changed.notify_all();
  }
}

EventBatches::EventBatches(JsonWindows& windows, const Wants& wants)
    : impl_(new Impl{windows, wants, {}, {}, false, 0, 0, false, false, {}, {}, {}, {}}) {
  const std::scoped_lock lock(impl_->mutex);
  for (unsigned i = 0; i < thread_count(); ++i) {
    impl_->threads.emplace_back([impl = impl_.get()] { impl->work(); });
  }
}

EventBatches::~EventBatches() {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->stop = true;
    impl_->changed.notify_all();
  }
  for (std::thread& thread : impl_->threads) thread.join();
}

Result<EventBatch> EventBatches::next() {
  std::unique_lock lock(impl_->mutex);
  const auto ready = [&] { return impl_->done.count(impl_->batches_given) != 0; };
  impl_->changed.wait(lock, [&] {
    return ready() || impl_->stop || (impl_->at_end && impl_->windows_read == impl_->batches_given);
  });
  if (ready()) {
    auto node = impl_->done.extract(impl_->batches_given++);
    impl_->changed.notify_all();
    return std::move(node.mapped());
  }
  if (impl_->exception != nullptr) std::rethrow_exception(impl_->exception);
  if (impl_->error) return *impl_->error;
  return EventBatch{};
}

}  // namespace sonde::importers
