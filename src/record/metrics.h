// The metrics of a recording: the sampler's readings as rows of rocpd_monitor, and what the trace
// says about them (rocpd_metadata, sonde_diagnostic).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "monitor/sampler.h"
#include "store/ingest/ingest.h"
#include "store/writer.h"

namespace sonde::record {

class Metrics {
 public:
  // `writer` must outlive this object.
  Metrics(const monitor::Settings& settings, store::Writer& writer);

  int64_t wait_ns() const;  // until the next tick; 0: now
  // Takes a sample. True if rows were written that should be committed.
  bool sample(std::span<const int64_t> processes);
  void last_look(int64_t pid);
  // Writes what was held back, and which metrics were unavailable; gives GPUs the trace's numbers.
  Status finish(store::Ingest& ingest);
  // For the user, one line each: metrics that were requested or denied.
  std::vector<std::string> complaints() const;

 private:
  void find_other_sys(std::span<const int64_t> processes);
  Result<bool> keep_gpus();
  void store_names();
  bool is_worth_saying(const monitor::Missing& missing) const;

  monitor::Settings settings_;
  store::Writer& writer_;
  monitor::Sampler sampler_;
  std::set<int64_t> seen_;  // processes
  bool has_other_sys_ = false;
  int64_t begun_ns_, flushed_ns_;
  std::map<int64_t, std::string> kept_places_;  // of GPUs, as the file has them
};

}  // namespace sonde::record
