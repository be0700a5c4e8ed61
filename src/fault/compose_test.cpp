// Reports of boards made by hand.
#include "fault/compose.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace sonde::fault {
namespace {

constexpr uint64_t kBuffer = 0x7f0000100000;

// The program went on after what is reported, at 5 ms.
class ComposeTest : public testing::Test {
 protected:
  void SetUp() override {
    board_.state = std::make_unique<wire::Board>();
    std::memset(static_cast<void*>(board_.state.get()), 0, sizeof *board_.state);
    allocation(0, 1'000'000, 0);
  }
  void allocation(size_t place, int64_t made_ns, int64_t freed_ns) {
    wire::BoardAllocation& entry = board_.state->allocations[place];
    entry.address = kBuffer;
    entry.bytes = 4096;
    entry.made_ns = made_ns;
    entry.freed_ns = freed_ns;
  }
  void refused_copy() {
    wire::BoardCallError& error = board_.state->call_error;
    error.time_ns = 5'000'000;
    error.code = 1;
    error.to = kBuffer;
    error.bytes = 8192;
    std::strcpy(error.function, "hipMemcpy");
  }
  void fault() {
    wire::BoardFault& fault = board_.state->faults[0];
    fault.kind = wire::kBoardMemoryFault;
    fault.reasons = 2;  // a write to a read-only page
    fault.address = kBuffer;
    fault.time_ns = 5'000'000;
    fault.queue = wire::kBoardQueues;
  }
  FaultReport report(Occasion::Kind kind) const {
    Occasion occasion;
    occasion.kind = kind;
    CodeObjects code({});
    return compose(board_, code, occasion, [](const std::string&, const std::string&, uint64_t) {
      return std::vector<store::FrameName>();
    });
  }

  Board board_;
};

TEST_F(ComposeTest, MemoryThatWasFreedAfterTheCallFailedWasNotFreedThen) {
  refused_copy();
  allocation(0, 1'000'000, 5'200'000);
  FaultReport told = report(Occasion::Kind::kCallError);
  EXPECT_EQ(told.cause.substr(0, 66),
            "out of bounds by 4,096 bytes: hipMemcpy writes 8,192 bytes at 0x7f");
  EXPECT_EQ(told.allocations.at(0).freed_ns, 0);
  allocation(0, 1'000'000, 4'800'000);
  told = report(Occasion::Kind::kCallError);
  EXPECT_EQ(told.cause.substr(0, 26), "use after free: hipMemcpy ");
  EXPECT_EQ(told.evidence.substr(0, 26), "it was freed 200 us before");
}

TEST_F(ComposeTest, MemoryThatWasAllocatedAfterTheCallFailedIsNotWhatItUsed) {
  refused_copy();
  allocation(0, 1'000'000, 4'800'000);
  allocation(1, 5'200'000, 0);
  EXPECT_EQ(report(Occasion::Kind::kCallError).cause.substr(0, 26), "use after free: hipMemcpy ");
}

TEST_F(ComposeTest, MemoryThatWasFreedAfterAFaultWasNotFreedThen) {
  fault();
  allocation(0, 1'000'000, 5'200'000);
  EXPECT_EQ(report(Occasion::Kind::kFault).cause.substr(0, 22), "a kernel writes to the");
  allocation(0, 1'000'000, 4'800'000);
  EXPECT_EQ(report(Occasion::Kind::kFault).cause.substr(0, 14), "use after free");
}

TEST_F(ComposeTest, AFaultWhoseTimeIsNotKnownIsToldByWhatIsKnownNow) {
  fault();
  board_.state->faults[0].time_ns = 0;
  allocation(0, 1'000'000, 4'800'000);
  EXPECT_EQ(report(Occasion::Kind::kFault).cause.substr(0, 14), "use after free");
}

}  // namespace
}  // namespace sonde::fault
