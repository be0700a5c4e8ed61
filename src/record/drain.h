// Drain: brings the spools of a session into the .rpd, while the programs run and after.
//
// poll() reads what has been committed since the last time. commit() makes it durable and only then
// gives chunks back to their producers. finish_process() reads a dead process' last records, notes
// what it was doing, and deletes its folder. Everything here works the same on a live session and
// on one whose recorder was killed (`sonde recover`).
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

  // All that is read from now on goes there: what it knows of this session it has restored, and
  // definitions are read again. Everything is committed.
  void go_on_with(store::Ingest& ingest);

  // Called after each chunk, for what must not wait until a burst is read.
  void on_progress(std::function<void()> progress) { progress_ = std::move(progress); }

  // From on_progress: all reading ends soon, and finish_process() fails.
  void stop() { stopped_ = true; }

  // Looks for processes and chunks that are new.
  void list_new();
  // The same, but less often while there is a backlog; and reads new records, though not all of a
  // large backlog at once. Returns how many bytes.
  uint64_t poll();
  // Commits when enough has come in or enough time has passed, or when `force`d.
  Status commit(bool force);

  struct Live {
    uint64_t spool;
    uint32_t pid;
    bool other_namespace;  // the pid is one of another pid namespace
  };
  // Process images seen and not yet finished.
  std::vector<Live> live() const;
  // The process image has ended (or is let go): all it committed is read, and what was open noted.
  Status finish_process(uint64_t spool, std::string_view how);

  // Rows were written that come from no chunk: the next commit is worth while.
  void touch() { ++uncommitted_bytes_; }

  // Records read from now on are counted as dropped for this reason.
  void discard_from_now(std::string_view reason) { discard_reason_ = reason; }

  // The last step: counts the drops, commits, and finishes the .rpd.
  Status finish();

  uint64_t events() const { return events_; }
  uint64_t spool_bytes() const;  // chunks on disk now

 private:
  struct Chunk {
    wire::ChunkFile file;
    std::string name;  // "p12-ab/r1-0": key of its position
    uint64_t sequence = 0, offset = 0;
    uint64_t bytes = 0;     // of the file
    bool drained = false;   // read to the end and given back
    bool read_out = false;  // sealed and read to the end; given back with the next commit
    // Of a sealed chunk that is still to be read: it stays as it is.
    std::optional<wire::ChunkStatus> waiting;
  };
  struct Spool {
    wire::SpoolFolder folder;
    std::map<std::string, Chunk> chunks;
    uint64_t definition_files = 0;  // of ring 0, which are numbered from 0 and never used again
    bool finished = false;          // nothing more will come
    bool removed = false;           // its folder is deleted
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
  void note_open(Spool& spool);
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
  std::vector<Announcement> to_tell_;  // those whose processes are still to be described
  std::vector<std::byte> buffer_;
  uint64_t events_ = 0, uncommitted_bytes_ = 0;
  bool stopped_ = false;
  std::string discard_reason_;  // "": records are kept
  int64_t last_commit_ns_ = 0, last_list_ns_ = 0;
  bool backlog_ = false;  // more is waiting than the last poll read
};

}  // namespace sonde::record
