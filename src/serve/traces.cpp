#include "serve/traces.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/temporary_directory.h"
#include "base/time.h"
#include "importers/import.h"
#include "report/names.h"
#include "serve/cache.h"
#include "store/scan.h"
#include "timeline/build_index.h"
#include "timeline/mapped_file.h"

namespace sonde::serve {
namespace {

using timeline::FileKey;

constexpr uint64_t kWorthKeeping = 1 << 20;     // bytes: a smaller index is made as fast
constexpr int64_t kLeastPause = 1'000'000'000;  // between two readings of a file that grows
constexpr int64_t kGrowing = 10'000'000'000;    // since it was last seen to have changed

// One trace: what is served of it, and how far the next reading is.
struct Slot {
  Source source;
  bool is_rpd = true;        // else it is imported, once
  mutable std::mutex mutex;  // of all below
  mutable std::condition_variable changed;
  std::shared_ptr<const Opened> opened;
  std::string error;
  bool queued = true;
  FileKey key;
  int64_t read_until_ns = 0, took_ns = 0, grown_ns = 0;
  timeline::Progress progress;
};

bool begins_with(const timeline::Names& names, const timeline::Names& first) {
  return names.size() >= first.size() && std::equal(first.begin(), first.end(), names.begin());
}

std::shared_ptr<Connection> connection(std::string path, std::optional<store::Reader> reader = {}) {
  auto made = std::make_shared<Connection>();
  made->path = std::move(path);
  made->reader = std::move(reader);
  return made;
}

class TracesInThread : public Traces {
 public:
  TracesInThread(const std::vector<Source>& sources, const TraceOptions& options)
      : cache_(options.cache_folder) {
    for (const Source& source : sources) {
      slots_.push_back(std::make_unique<Slot>());
      slots_.back()->source = source;
    }
  }

  ~TracesInThread() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      for (auto& slot : slots_) slot->progress.stop = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  Status start() {
    for (size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = *slots_[i];
      SONDE_ASSIGN(const importers::Found found,
                   importers::find_importer(slot.source.path, slot.source.as));
      slot.is_rpd = found.importer == nullptr;
      if (found.source) {  // it can be read only once, which was begun
        return make_error(ErrorCode::kInvalidArgument, "is not a regular file", slot.source.path,
                          "sonde import makes an .rpd of it");
      }
      if (slot.is_rpd) SONDE_TRY(store::Reader::open(slot.source.path));
      queue_.push_back(i);
    }
    // Signals are for the threads of the command.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { work(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return ok_status();
  }

  size_t size() const override { return slots_.size(); }
  const Source& source(size_t trace) const override { return slots_[trace]->source; }
  std::mutex& noting() override { return noting_; }

  std::shared_ptr<const Opened> opened(size_t trace, int64_t wait_ns) const override {
    const Slot& slot = *slots_[trace];
    std::unique_lock lock(slot.mutex);
    slot.changed.wait_for(lock, std::chrono::nanoseconds(wait_ns),
                          [&] { return slot.opened || !slot.error.empty(); });
    return slot.opened;
  }

  TraceState state(size_t trace) override {
    Slot& slot = *slots_[trace];
    look_for_growth(trace, slot);
    const std::lock_guard lock(slot.mutex);
    const int64_t now_ns = monotonic_now_ns();
    return {slot.queued ? slot.progress.what.load() : "",
            slot.queued ? slot.progress.done.load() : 1, slot.opened ? slot.opened->version : 0,
            slot.grown_ns != 0 && now_ns - slot.grown_ns < kGrowing, slot.error};
  }

 private:
  // A file that grows all the time is read as often as its reading takes a third of the time.
  void look_for_growth(size_t trace, Slot& slot) {
    if (!slot.is_rpd) return;
    const auto key = timeline::key_of(slot.source.path);
    if (!key) return;  // a deleted file keeps its last state
    {
      const std::lock_guard lock(slot.mutex);
      const int64_t now_ns = monotonic_now_ns();
      if (slot.queued || *key == slot.key) return;
      slot.grown_ns = now_ns;
      if (now_ns - slot.read_until_ns < std::max(kLeastPause, 2 * slot.took_ns)) return;
      slot.queued = true;
    }
    const std::lock_guard lock(mutex_);
    queue_.push_back(trace);
    wake_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (ending_) return;
      const size_t trace = queue_.front();
      queue_.pop_front();
      lock.unlock();
      read(*slots_[trace]);
      lock.lock();
    }
  }

  void read(Slot& slot) {
    const int64_t begin_ns = monotonic_now_ns();
    FileKey key;
    UniqueFd made;  // an index that is worth keeping
    Result<std::shared_ptr<const Opened>> result = std::shared_ptr<const Opened>();
    try {
      result = read_anew(slot, key, made);
    } catch (const std::exception& error) {  // of memory, or of an importer's library
      result = make_error(ErrorCode::kInternal, error.what(), slot.source.path);
    }
    ::malloc_trim(0);  // reading takes more than keeping
    {
      const std::lock_guard lock(slot.mutex);
      slot.queued = false;
      slot.key = key;
      slot.read_until_ns = monotonic_now_ns();
      slot.took_ns = slot.read_until_ns - begin_ns;
      slot.error = result ? "" : result.error().to_line();
      if (result) slot.opened = std::move(*result);
      slot.changed.notify_all();
    }
    if (made.valid()) cache_.keep(made.get(), slot.source.path);
  }

  Result<std::shared_ptr<const Opened>> read_anew(Slot& slot, FileKey& key, UniqueFd& made) {
    SONDE_ASSIGN(key, timeline::key_of(slot.source.path));
    auto opened = std::make_shared<Opened>();
    opened->source = slot.source;
    {
      const std::lock_guard lock(slot.mutex);
      opened->version = slot.opened ? slot.opened->version + 1 : 1;
    }
    SONDE_TRY(slot.is_rpd ? index_rpd(slot, key, *opened, made)
                          : index_imported(slot, key, *opened));
    SONDE_TRY(read_facts(*opened));
    opened->full_names = report::demangled_names(opened->index.names);
    opened->short_names = report::short_names(opened->full_names);
    return std::shared_ptr<const Opened>(std::move(opened));
  }

  Status index_rpd(Slot& slot, const FileKey& key, Opened& opened, UniqueFd& made) {
    opened.details = connection(slot.source.path);
    opened.sql = connection(slot.source.path);
    auto kept = cache_.find(slot.source.path, key);
    if (kept && begins_with(kept->names, known_names(slot))) {
      opened.index = std::move(*kept);
      return ok_status();
    }
    slot.progress.what = "opening";
    SONDE_ASSIGN(store::Reader reader, store::Reader::open(slot.source.path));
    SONDE_ASSIGN(UniqueFd index, build(slot, key, reader, opened));
    // If the trace was written meanwhile, it is unknown which state the index has.
    const auto now = timeline::key_of(slot.source.path);
    const bool still = now.ok() && *now == key;
    if (still && opened.index.bytes >= kWorthKeeping) made = std::move(index);
    return ok_status();
  }

  // What the index does not have.
  static Status read_facts(Opened& opened) {
    SONDE_ASSIGN(store::Reader * reader, opened.details->get());
    store::Database& database = reader->database();
    SONDE_ASSIGN(const bool any, database.has_table("rocpd_counter"));
    if (any) {
      SONDE_ASSIGN(auto rows, database.prepare("SELECT 1 FROM rocpd_counter LIMIT 1"));
      SONDE_ASSIGN(opened.counted, rows.step());
    }
    return store::scan(
        database, "pid, tid, name", "v_thread WHERE name <> ''", {}, [&](const store::Row& row) {
          opened.threads[{row.integer(0), row.integer(1)}] = std::string(row.text(2));
        });
  }

  // By way of an .rpd that is deleted when this ends; only the connections to it remain.
  Status index_imported(Slot& slot, const FileKey& key, Opened& opened) {
    slot.progress.what = "importing";
    SONDE_ASSIGN(const TemporaryDirectory directory, TemporaryDirectory::create());
    const std::string imported = directory.path() + "/trace.rpd";
    importers::ImportOptions options;
    options.as = slot.source.as;
    options.progress = [&slot](uint64_t done, uint64_t total) {
      slot.progress.done = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
    };
    SONDE_TRY(importers::import_files({slot.source.path}, imported, options));
    slot.progress.what = "opening";
    slot.progress.done = 0;
    SONDE_ASSIGN(store::Reader details, store::Reader::open(imported));
    SONDE_ASSIGN(store::Reader sql, store::Reader::open(imported));
    SONDE_ASSIGN(store::Reader reader, store::Reader::open(imported));
    for (store::Reader* each : {&details, &sql, &reader}) {
      each->database().set_path(slot.source.path);
    }
    opened.details = connection(slot.source.path, std::move(details));
    opened.sql = connection(slot.source.path, std::move(sql));
    SONDE_TRY(build(slot, key, reader, opened));
    return ok_status();
  }

  // A page knows them by their numbers.
  static timeline::Names known_names(const Slot& slot) {
    const std::lock_guard lock(slot.mutex);
    return slot.opened ? slot.opened->index.names : timeline::Names();
  }

  Result<UniqueFd> build(Slot& slot, const FileKey& key, store::Reader& reader, Opened& opened) {
    const std::string folder = cache_.folder().empty() ? temporary_folder() : cache_.folder();
    SONDE_ASSIGN(UniqueFd fd, timeline::unnamed_file(folder));
    SONDE_TRY(
        timeline::build_index(reader, key, fd.get(), folder, slot.progress, known_names(slot)));
    SONDE_ASSIGN(opened.index, timeline::load_index(fd.get(), slot.source.path, key));
    return fd;
  }

  IndexCache cache_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex mutex_;  // of the queue
  std::condition_variable wake_;
  std::deque<size_t> queue_;
  bool ending_ = false;
  std::mutex noting_;
  std::thread thread_;
};

}  // namespace

std::string temporary_folder() {
  for (const char* folder : {static_cast<const char*>(std::getenv("TMPDIR")), "/var/tmp", "/tmp"}) {
    std::error_code error;
    if (folder != nullptr && std::filesystem::is_directory(folder, error)) return folder;
  }
  return "/tmp";
}

std::string user_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/sonde/serve";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/sonde/serve";
  return {};
}

Result<std::unique_ptr<Traces>> Traces::open(const std::vector<Source>& sources,
                                             const TraceOptions& options) {
  auto traces = std::make_unique<TracesInThread>(sources, options);
  SONDE_TRY(traces->start());
  return std::unique_ptr<Traces>(std::move(traces));
}

}  // namespace sonde::serve
