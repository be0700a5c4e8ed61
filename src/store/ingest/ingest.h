// Ingest turns the records of a recording's spools into rows of an .rpd file.
//
// The recorder feeds it: clock readings, each process' definitions (ring 0) before the events that
// use them, and the events of each ring in order. All that a later record may refer to (open
// correlations, started ranges, who is who) is kept here and, with every commit, in the file's
// sonde_ingest table, so that `sonde recover` goes on exactly where a killed recorder stopped.
// Invalid records are counted, never trusted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/writer.h"
#include "wire/chunk.h"
#include "wire/decoder.h"

namespace sonde::store {

class Ingest {
 public:
  // Continues what the file's sonde_ingest table says, if anything. An unfinished recording of
  // another session, known by its id, is an error. `writer` must outlive this.
  static Result<Ingest> open(Writer& writer, uint64_t session_id, const std::string& session);
  Ingest(Ingest&&) noexcept;
  Ingest& operator=(Ingest&&) noexcept;
  ~Ingest();

  // The rank of this job's processes, for sonde_process; kept in the file's metadata.
  void set_rank(int rank, int size);

  // The clocks at a moment after everything fed so far; events are converted between readings.
  void clocks(const wire::ClockReading& reading);

  // A reading that a chunk carries; it counts where the recorder has none of about that time.
  void opened(const wire::ClockReading& reading);

  // A record of ring 0. Feeding the same definitions again does no harm.
  void definition(const wire::ChunkStatus& chunk, const wire::Record& record);
  // A record of another ring; `ring` and `tid` of the header say whose.
  void event(const wire::ChunkStatus& chunk, const wire::Record& record);
  // What was open when its process ended.
  void unfinished(const wire::ChunkHeader& chunk, const wire::OpenRange& range);
  void unfinished(const wire::ChunkHeader& chunk, const wire::OpenCall& call);
  // A process image ended: "exit 0", "signal 9", "exec" ... Nobody may know when (nullopt).
  void ended(uint64_t spool, std::optional<int64_t> end_ns, std::string_view how);

  // For a recovery, which comes after the end. Signs that a process ran, besides its records: by
  // the clock that stamps them, or by CLOCK_MONOTONIC.
  void alive_at_ticks(uint64_t spool, uint64_t ticks);
  void alive_at(uint64_t spool, int64_t monotonic_ns);
  // The newest of all signs, at most `latest_ns`; nullopt: there is none. What is open ends then.
  std::optional<int64_t> end_by_last_sign(uint64_t spool, int64_t latest_ns);
  // Whether the machine has run without a pause from the last reading in the file to this one, so
  // that what lies between can be converted by both.
  bool follows(const wire::ClockReading& reading) const;
  // The time of CLOCK_REALTIME, by the readings in the file; nullopt: there are none.
  std::optional<int64_t> monotonic_of_realtime(int64_t realtime_ns) const;

  bool has_ended(uint64_t spool) const;
  // Part of a chunk that could not be read.
  void damaged(std::string_view what);
  void drop(std::string_view source, std::string_view reason, uint64_t count);
  // The same for a count that is kept elsewhere and given whole each time.
  void set_drop(std::string_view source, std::string_view reason, uint64_t total);
  void diagnostic(std::string_view source, std::string_view text);

  // How far a chunk has been read: kept with the rows, so both are always of the same moment.
  struct Position {
    uint64_t sequence = 0, offset = 0;
  };
  Position position(const std::string& chunk_name) const;
  void set_position(const std::string& chunk_name, Position position);
  void forget_position(const std::string& chunk_name);

  uint64_t ops() const;
  uint64_t apis() const;
  uint64_t lost() const;  // all drops counted so far

  // Writes the state and commits. After an error nothing since the last commit is in the file.
  Status commit();
  // Writes what is still waiting, clears the state, and finishes the file.
  Status finish();
  // The same for a part of the recording that goes on in another file (rotation.h), but that the
  // file is left to its writer to finish.
  Status end_part();

  struct Impl;  // private to ingest*.cpp

 private:
  explicit Ingest(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sonde::store
