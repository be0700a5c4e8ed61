#include "importers/kineto/batches.h"

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

class EventBatches {
 public:
  // `windows` is used until next() has returned an empty batch or this object is gone.
  EventBatches(JsonWindows& windows, const Wants& wants);
  EventBatches(const EventBatches&) = delete;
  EventBatches& operator=(const EventBatches&) = delete;
  ~EventBatches();

  // The next batch; one without a window at the end.
  Result<EventBatch> next();

 private:
  void work();
  // The next window and its number; nullopt when there are no more.
  std::optional<std::pair<uint64_t, JsonWindow>> take_window();

  JsonWindows& windows_;
  const Wants wants_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  bool reading_ = false;       // a thread is in JsonWindows::next()
  uint64_t windows_read_ = 0;  // number of the next window
  uint64_t batches_given_ = 0;
  bool at_end_ = false, stop_ = false;
  std::map<uint64_t, EventBatch> done_;
  std::optional<Error> error_;
  std::exception_ptr exception_;
  std::vector<std::thread> threads_;
};

std::optional<std::pair<uint64_t, JsonWindow>> EventBatches::take_window() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return stop_ || at_end_ ||
           (!reading_ && windows_read_ - batches_given_ < kAhead + threads_.size());
  });
  if (stop_ || at_end_) return std::nullopt;
  reading_ = true;
  lock.unlock();
  auto window = windows_.next();
  lock.lock();
  reading_ = false;
  changed_.notify_all();
  if (!window || window->size == 0) {
    at_end_ = true;
    if (!window) error_ = window.error();
    return std::nullopt;
  }
  return std::pair(windows_read_++, std::move(*window));
}

void EventBatches::work() {
  try {
    EventParser parser(wants_);
    while (auto window = take_window()) {
      EventBatch batch = parser.parse(std::move(window->second));
      const std::scoped_lock lock(mutex_);
      done_.emplace(window->first, std::move(batch));
      changed_.notify_all();
    }
  } catch (...) {  // out of memory; given to the caller's thread
    const std::scoped_lock lock(mutex_);
    exception_ = std::current_exception();
    stop_ = true;
    changed_.notify_all();
  }
}

EventBatches::EventBatches(JsonWindows& windows, const Wants& wants)
    : windows_(windows), wants_(wants) {
  const std::scoped_lock lock(mutex_);
  for (unsigned i = 0; i < thread_count(); ++i) threads_.emplace_back([this] { work(); });
}

EventBatches::~EventBatches() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

Result<EventBatch> EventBatches::next() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return done_.count(batches_given_) != 0; };
  changed_.wait(lock,
                [&] { return ready() || stop_ || (at_end_ && windows_read_ == batches_given_); });
  if (ready()) {
    auto node = done_.extract(batches_given_++);
    changed_.notify_all();
    return std::move(node.mapped());
  }
  if (exception_ != nullptr) std::rethrow_exception(exception_);
  if (error_) return *error_;
  return EventBatch{};
}

}  // namespace

Status each_batch(const Source& source, JsonWindows& windows, const Wants& wants,
                  const std::function<Status(const EventBatch&)>& take) {
  EventBatches batches(windows, wants);
  for (;;) {
    SONDE_ASSIGN(const EventBatch batch, batches.next());
    if (batch.window.size == 0) break;
    SONDE_TRY(take(batch));
  }
  if (windows.found_events()) return ok_status();
  return make_error(ErrorCode::kBadData,
                    "not a Chrome or Kineto trace: it has no array of events (traceEvents)",
                    source.path(), "--as names another format");
}

}  // namespace sonde::importers
