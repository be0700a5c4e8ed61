// Drain: moves the spools of a session into the .rpd, while the programs run and afterwards.
//
// poll() reads what has been committed since the last call. commit() makes it durable and only then
// returns chunks to their producers. finish_process() reads a dead process' last records, notes
// what it was doing, and deletes its folder. All of this works the same on a live session and on
// one whose recorder was killed (`sonde recover`).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/announced.h"
#include "store/ingest/ingest.h"
#include "wire/decoder.h"
#include "wire/session.h"

namespace sonde::record {

class Drain {
 public:
  Drain(std::string session, wire::Control& control, store::Ingest& ingest);

  // Sends everything read from now on to `ingest`, which has restored its state of this session;
  // definitions are read again. Requires that everything is committed.
  void go_on_with(store::Ingest& ingest);

  // Called after each chunk, for work that must not wait until a burst has been read.
  void on_progress(std::function<void()> progress) { progress_ = std::move(progress); }

  // From on_progress: stops all reading soon; finish_process() then fails.
  void stop() { stopped_ = true; }

  // Looks for new processes and chunks.
  void list_new();
  // The same, but less often while there is a backlog; and reads new records, but not all of a
  // large backlog at once. Returns the number of bytes.
  uint64_t poll();
  // Commits when enough data or time has accumulated, or if `force`.
  Status commit(bool force);

  struct Live {
    uint64_t spool;
    uint32_t pid;
    bool other_namespace;  // the pid belongs to another pid namespace
    bool has_chunks;       // and so maps them as long as it runs
  };
  // Process images seen and not yet finished.
  std::vector<Live> live() const;
  // When a process ended: just now; or, if nobody watched it, when it was last known to run.
  enum class End { kNow, kLastSign };
  // The process image has ended, or is not followed any longer: reads everything it committed, and
  // notes what was open.
  Status finish_process(uint64_t spool, std::string_view how, End end = End::kNow);

  // The clocks of this machine, now, say nothing about the recording: it is left to its own.
  void leave_clocks() { reads_clocks_ = false; }

  // Rows were written that come from no chunk, so the next commit is worthwhile.
  void touch() { ++uncommitted_bytes_; }

  // Counts records read from now on as dropped for this reason.
  void discard_from_now(std::string_view reason) { discard_reason_ = reason; }

  // The last step: counts the drops, commits, and finishes the .rpd.
  Status finish();

  uint64_t events() const { return events_; }
  uint64_t spool_bytes() const;  // chunks currently on disk

 private:
  struct Chunk {
    wire::ChunkFile file;
    std::string name;  // "p12-ab/r1-0": key of its position
    uint64_t sequence = 0, offset = 0;
    uint64_t bytes = 0;     // of the file
    bool drained = false;   // read to the end and returned to the producer
    bool read_out = false;  // sealed and read to the end; returned with the next commit
    // The header of a sealed chunk that is still to be read: it does not change.
    std::optional<wire::ChunkStatus> waiting;
  };
  struct Spool {
    wire::SpoolFolder folder;
    std::map<std::string, Chunk> chunks;
    uint64_t definition_files = 0;  // of ring 0; numbered from 0 and never reused
    bool finished = false;          // nothing more will come
    bool removed = false;           // its folder is deleted
    int64_t told_end_ns = 0;        // CLOCK_MONOTONIC, as it told at its end; 0: it did not
  };
  struct Pending {
    Chunk* chunk;
    wire::ChunkStatus header;
  };

  void list_announced();
  void tell_announced();
  void list_new_definitions(Spool& spool);
  void add_chunk(Spool& spool, wire::ChunkFile file);
  uint64_t read_some(std::span<Spool* const> spools);
  void collect(Spool& spool, bool definitions, std::vector<Pending>& pending);
  void read_chunk(const Pending& pending);
  void give_back();
  void remove_spool(Spool& spool);
  void note_watched();
  std::vector<wire::ChunkHeader> newest_of_rings(Spool& spool);
  std::optional<int64_t> last_sign(const Spool& spool, std::span<const wire::ChunkHeader> newest);
  bool read_header(const Spool& spool, const Chunk& chunk, wire::ChunkHeader& header);
  static bool is_newest(const Spool& spool, const Chunk& chunk);
  static wire::HeaderVerdict judge(const Spool& spool, const Chunk& chunk,
                                   const wire::ChunkStatus& header);

  std::string session_;
  wire::Control* control_;
  store::Ingest* ingest_;
  std::function<void()> progress_ = [] {};
  std::map<uint64_t, Spool> spools_;
  Announced announced_;
  std::vector<Announcement> to_tell_;  // announcements whose processes are not described yet
  std::vector<std::byte> buffer_;
  uint64_t events_ = 0, uncommitted_bytes_ = 0;
  bool stopped_ = false;
  std::string discard_reason_;  // "": records are kept
  int64_t last_commit_ns_ = 0, last_list_ns_ = 0, polled_ns_ = 0;
  bool reads_clocks_ = true;
  bool backlog_ = false;  // the last poll has left data unread
};

}  // namespace sonde::record
