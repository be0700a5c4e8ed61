#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "record/chunk_access.h"
#include "record/drain.h"
#include "record/liveness.h"
#include "record/parts.h"
#include "record/record.h"
#include "record/session_dir.h"
#include "record/symbols.h"
#include "store/database.h"
#include "store/ingest/unfinished.h"
#include "store/recording.h"
#include "store/writer.h"

namespace sonde::record {

namespace {

namespace fs = std::filesystem;

// Makes a file size limit an error instead of a fatal signal.
class FileSizeSignalIgnored {
 public:
  FileSizeSignalIgnored() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &ignore, &before_);
  }
  FileSizeSignalIgnored(const FileSizeSignalIgnored&) = delete;
  FileSizeSignalIgnored& operator=(const FileSizeSignalIgnored&) = delete;
  ~FileSizeSignalIgnored() { ::sigaction(SIGXFSZ, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

// An empty file is created, not copied: libstdc++ 14 copies it through streams whose exceptions it
// does not catch, and a file in /proc, which appears empty, may not be readable at all.
void copy_file(const std::string& from, const std::string& to, std::error_code& error) {
  if (fs::file_size(from, error) != 0 && !error) {
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  } else if (!error && !std::ofstream(to, std::ios::trunc)) {
    error = std::make_error_code(std::errc::io_error);
  }
}

// The copy gets its name only when it is complete.
Status copy_trace(const std::string& from, const std::string& to) {
  const std::string part = to + ".part";
  std::error_code error;
  const auto copy = [&](const std::string& suffix) {
    if (!error) copy_file(from + suffix, part + suffix, error);
  };
  copy("");
  std::error_code ignored;
  const bool journal = fs::file_size(from + "-journal", ignored) > 0 && !ignored;
  if (journal) copy("-journal");
  if (!error && journal) fs::rename(part + "-journal", to + "-journal", error);
  if (!error) fs::rename(part, to, error);
  if (!error) return ok_status();
  fs::remove(part, ignored);
  fs::remove(part + "-journal", ignored);
  return make_error(ErrorCode::kIo, "cannot copy: " + error.message(), to);
}

// The file to continue with: the recorder's own, or a copy of it. "": that one is gone.
Result<store::Writer> open_trace(const std::string& recorded, const std::string& output) {
  std::error_code error;
  if (output != recorded && fs::exists(output, error)) {
    return make_error(ErrorCode::kIo, "already exists", output, "choose another name with -o");
  }
  if (!fs::exists(recorded, error)) {
    return store::Writer::open(output, store::Writer::Mode::kCreate);
  }
  if (output != recorded) {
    // Opening rolls back what the killed recorder had not committed; only then is the file
    // consistent. If that fails, the journal is copied along and rolled back there.
    { auto whole = store::Writer::open(recorded, store::Writer::Mode::kAppend); }
    SONDE_TRY(copy_trace(recorded, output));
  }
  return store::Writer::open(output, store::Writer::Mode::kAppend);
}

// Whether the file is the trace of the session with this number; nothing if that cannot be told.
// Opening it for writing removes what a killed writer has left beside it.
std::optional<bool> is_trace_of(const std::string& trace, uint64_t session_id) {
  auto database = store::Database::open(trace, store::Database::Mode::kReadWrite);
  if (!database) return std::nullopt;
  const auto own = store::is_unfinished_of(*database, session_id);
  return own ? std::optional(*own) : std::nullopt;
}

// What the session names has precedence: a recovery into another file goes on with that one.
bool was_moved_to(const std::string& trace, const Result<std::string>& recorded,
                  uint64_t session_id) {
  if (trace.empty() || (recorded && is_trace_of(*recorded, session_id).value_or(false))) {
    return false;
  }
  return is_trace_of(trace, session_id).value_or(false);
}

// Whether the program has got chunks back, so that what was in them is in the trace alone: one is
// marked so, is used again, or was deleted.
bool has_given_back(const std::string& session) {
  for (const auto& folder : wire::list_spools(session)) {
    std::map<uint32_t, uint64_t> next;  // sequence, by ring
    for (const auto& file : wire::list_chunks(folder.path)) {
      const uint64_t expected = next[file.ring]++;
      wire::ChunkStatus header;
      if (file.ring == 0 || !read_status(file.path, header) ||
          wire::judge_header(header) != wire::HeaderVerdict::kGood) {
        continue;
      }
      if (header.sequence != expected || header.state == wire::ChunkState::kDrained) return true;
    }
  }
  return false;
}

// Whether the recorder's trace is not where the session says, but another one or none.
bool is_gone(const std::string& trace, const std::string& session, uint64_t session_id) {
  std::error_code error;
  if (!fs::exists(trace, error)) return has_given_back(session);
  if (is_trace_of(trace, session_id).value_or(true)) return false;
  auto other = store::Database::open(trace, store::Database::Mode::kReadOnly);
  const auto rows = other ? store::count_rows(*other) : Result<store::RowCounts>(other.error());
  return rows && rows->apis + rows->ops != 0;
}

// A recorder may be killed when all is in the trace and only the directory is left to remove.
// Opening the trace for writing removes what a killed writer has left beside it.
std::optional<store::Database> finished_trace(const std::string& session,
                                              const std::string& trace) {
  std::error_code error;
  if (!wire::list_spools(session).empty() || !fs::exists(trace, error)) return std::nullopt;
  auto database = store::Database::open(trace, store::Database::Mode::kReadWrite);
  if (!database) return std::nullopt;
  const auto unfinished = store::unfinished_session(*database);
  if (!unfinished || *unfinished) return std::nullopt;
  return std::move(database).value();
}

// Includes what the recorder had stored before it was killed.
Status count_outcome(store::Database& database, Outcome& outcome) {
  SONDE_ASSIGN(const auto rows, store::count_rows(database));
  outcome.apis = rows.apis;
  outcome.ops = rows.ops;
  return ok_status();
}

// The images of processes: which an exec has replaced, and which still run.
struct Images {
  std::map<uint32_t, uint64_t> newest;  // by number of the process
  std::set<uint64_t> running;
  bool is_replaced(const Drain::Live& live) const {
    const auto found = newest.find(live.pid);
    return !live.other_namespace && found != newest.end() && found->second > live.spool;
  }
};

void look_at_processes(Drain& drain, const wire::SessionControl& control, Images& images) {
  drain.list_new();
  if (!wire::is_of_this_boot(control)) return;
  struct stat ours {};
  const bool pids_are_ours = ::stat("/proc/self/ns/pid", &ours) == 0 &&
                             (control.pid_namespace == 0 || control.pid_namespace == ours.st_ino);
  const auto all = drain.live();
  for (const auto& live : all) {
    auto& newest = images.newest[live.pid];
    if (!live.other_namespace) newest = std::max(newest, live.spool);
  }
  Liveness liveness;
  for (const auto& live : all) {
    if (!images.is_replaced(live) && liveness.runs(live, pids_are_ours)) {
      images.running.insert(live.spool);
    }
  }
}

// The end of those that do not run any longer was seen by nobody.
Status finish_processes(Drain& drain, const Images& images, Outcome& outcome) {
  for (const auto& live : drain.live()) {
    const bool running = images.running.count(live.spool) != 0;
    const char* how = images.is_replaced(live) ? "exec" : "ended, recovered";
    outcome.left_running += running ? 1 : 0;
    SONDE_TRY(drain.finish_process(live.spool, running ? "running" : how,
                                   running ? Drain::End::kNow : Drain::End::kLastSign));
  }
  return ok_status();
}

// Reads everything, and finishes the processes.
Status read_all(Drain& drain, const wire::SessionControl& control, Outcome& outcome) {
  // Reading takes a while, in which processes that are not recorded any longer may end.
  Images images;
  look_at_processes(drain, control, images);
  while (drain.poll() != 0) SONDE_TRY(drain.commit(false));
  look_at_processes(drain, control, images);
  return finish_processes(drain, images, outcome);
}

}  // namespace

Result<Outcome> recover(const std::string& session, const std::string& output,
                        const std::string& trace) {
  const FileSizeSignalIgnored ignored_signal;
  SONDE_ASSIGN(auto control, wire::Control::open(session));
  auto recorded = read_output_name(session);
  if (was_moved_to(trace, recorded, control->id)) {
    std::error_code error;
    recorded = fs::absolute(trace, error).string();
    SONDE_TRY(write_output_name(session, *recorded));
  }
  if (!recorded && output.empty()) {
    if (!wire::list_spools(session).empty()) return std::move(recorded).error();
    remove_session_dir(session);
    return Outcome{};
  }
  if (recorded) {
    if (auto before = part_not_ended(*recorded, session)) {
      SONDE_TRY(write_output_name(session, *before));
      recorded = std::move(*before);
    }
  }
  std::error_code ignored;
  const std::string path = output.empty() ? *recorded : fs::absolute(output, ignored).string();
  Outcome outcome;
  outcome.path = path;
  if (recorded && path == *recorded) {
    if (auto finished = finished_trace(session, path)) {
      SONDE_TRY(count_outcome(*finished, outcome));
      remove_session_dir(session);
      return outcome;
    }
  }
  const bool gone = recorded && is_gone(*recorded, session, control->id);
  if (gone && output.empty()) {
    return make_error(
        ErrorCode::kNotFound, "the trace of this recording is not here any more", path,
        "move it back, or give its new path; -o FILE makes one of what is left in " + session);
  }
  SONDE_ASSIGN(auto writer, open_trace(gone ? "" : recorded ? *recorded : path, path));
  SONDE_ASSIGN(auto ingest, store::Ingest::open(writer, control->id, session));
  // From here on this file and the session belong together: an interrupted recovery continues with
  // it.
  if (!recorded || path != *recorded) SONDE_TRY(write_output_name(session, path));
  __atomic_store_n(&control->closed, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&control->recording, 0, __ATOMIC_RELAXED);

  if (recorded && !gone) remove_stray_part(*recorded, session);
  Drain drain(session, control, ingest);
  const auto now = wire::read_clocks_exactly(control->clock);
  if (!wire::is_of_this_boot(*control) || !ingest.follows(now)) drain.leave_clocks();
  SONDE_TRY(read_all(drain, *control, outcome));
  SONDE_TRY(name_frames(writer.database()));
  SONDE_TRY(store::renumber_gpu_metrics(writer.database()));
  SONDE_TRY(drain.finish());
  SONDE_TRY(count_outcome(writer.database(), outcome));
  outcome.lost = ingest.lost();
  remove_session_dir(session);
  return outcome;
}

}  // namespace sonde::record
