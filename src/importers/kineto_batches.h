// Parses the windows of a Chrome trace on threads of its own and gives the batches out in the order
// of the file. At most a few windows are in memory at a time.
#pragma once

#include <memory>

#include "importers/json_windows.h"
#include "importers/kineto_events.h"

namespace sonde::importers {

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
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sonde::importers
