// FirstTime: a sink that keeps nothing but when the first event of a file was. Used to let files
// begin together whose clocks have no relation.
#pragma once

#include <algorithm>
#include <optional>

#include "importers/sink/sink.h"

namespace sonde::importers {

class FirstTime : public Sink {
 public:
  std::optional<int64_t> first_ns() const { return first_ns_; }

  Wants wants() const override { return {true, false, true, false, false}; }
  Name name(std::string_view) override { return 1; }
  int64_t process(int64_t) override { return 1; }
  int64_t api(const Api& row) override { return seen(row.start_ns); }
  int64_t op(const Op& row) override { return seen(row.start_ns); }

 private:
  int64_t seen(int64_t time_ns) {
    first_ns_ = std::min(first_ns_.value_or(time_ns), time_ns);
    return 1;
  }

  std::optional<int64_t> first_ns_;
};

}  // namespace sonde::importers
