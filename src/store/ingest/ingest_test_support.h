// An .rpd that a test makes with an Ingest, commits, crashes, and asks.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/fixtures_test_support.h"
#include "store/ingest/ingest.h"
#include "store/wire_test_support.h"

namespace sonde::store::testing {

using Rows = std::vector<std::string>;

// The ticks of these tests: exactly three a nanosecond, so that no conversion is rounded.
inline uint64_t at(int64_t ns) { return static_cast<uint64_t>(ns) * 3; }

inline wire::ClockReading reading(int64_t ns) {
  return {at(ns), at(ns), ns, ns + 1000, ns + 5000, ns + 7000};
}

// An .rpd that is being made; crash() is what a SIGKILL of the recorder leaves.
class Recording {
 public:
  Recording() { open(Writer::Mode::kCreate); }
  // With the recorder's readings of the clocks at these times.
  Recording(int64_t first_ns, int64_t last_ns) : Recording() {
    for (const int64_t ns : {first_ns, last_ns}) ingest_->clocks(reading(ns));
  }
  Ingest& operator*() { return *ingest_; }
  Ingest* operator->() { return &*ingest_; }

  void crash() {
    ingest_.reset();
    writer_.reset();
    open(Writer::Mode::kAppend);
  }
  void restore() {
    ASSERT_TRUE(ingest_->commit());
    crash();
  }
  void finish() { expect_ok(ingest_->finish()); }
  Rows rows(const std::string& sql) { return testing::rows(writer_->database(), sql, ""); }
  // finish() first.
  std::string value(const std::string& sql) {
    const auto all = rows(sql);
    return all.size() == 1 ? all[0] : std::to_string(all.size()) + " rows";
  }

 private:
  void open(Writer::Mode mode) {
    writer_ = std::make_unique<Writer>(value_of(Writer::open(folder_ / "t.rpd", mode)));
    ingest_ = std::make_unique<Ingest>(value_of(Ingest::open(*writer_, 7, "/tmp/session")));
  }
  TemporaryDirectory folder_;
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Ingest> ingest_;
};

// A process with a function 5 (queue:p n:u), a kernel 6, a queue 9 of a device 8, and a text 10.
inline Words some_definitions() {
  using namespace std::string_view_literals;
  return process(7, at(500), "/bin/prog\0/home\0prog\0--x=it's\0"sv) + string(1, "test") +
         string(2, "enqueue") + string(3, "clEnqueue") + string(4, "queue:p n:u") +
         function(5, 1, 2, 3, 4) + string(6, "kernel_a") + string(7, "device") +
         device(8, 0, 1, 7, 0) + queue(9, 8, 0xbeef, 3) + string(10, "text");
}

// Launched on queue 9, queued and submitted just before.
inline Op kernel(uint64_t correlation, uint64_t start, uint64_t end) {
  Op op;
  op.queue = 9;
  op.correlation = correlation;
  op.start = start;
  op.end = end;
  op.queued = start - 2;
  op.submitted = start - 1;
  op.grid[0] = 100;
  op.group[0] = 16;
  return op;
}

}  // namespace sonde::store::testing
