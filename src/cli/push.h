// Texts of metrics sent to a server that imports them: sonde exporter --push.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "base/result.h"

namespace sonde::cli {

// Every series of Prometheus' text format, followed by its time in milliseconds since 1970, so that
// it keeps that time when it is sent later.
std::string with_time(const std::string& text, int64_t time_ms);

// http://host:8428 -> .../api/v1/import/prometheus, which VictoriaMetrics and vmagent have, with
// the node as the label that a collector would give; a URL with a path stays what it is. An error
// if it is none.
Result<std::string> import_url(const std::string& url, const std::string& node);

// What could not be sent waits, up to so many texts, and is sent with the next one.
class PushQueue {
 public:
  using Send = std::function<Status(const std::string& text)>;
  explicit PushQueue(Send send, size_t most = 360) : send_(std::move(send)), most_(most) {}

  // Sends it and what waits, the oldest first, until something cannot be sent. Says on stderr when
  // that begins and when it is over.
  void push(std::string text);
  size_t waiting() const { return waiting_.size(); }
  uint64_t lost() const { return lost_; }

 private:
  Send send_;
  size_t most_;
  std::deque<std::string> waiting_;
  uint64_t lost_ = 0;  // texts
  bool failing_ = false;
};

}  // namespace sonde::cli
