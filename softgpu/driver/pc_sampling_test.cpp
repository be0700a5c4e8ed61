#include "driver/pc_sampling.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace softgpu {
namespace {

using kfd::PcSampleOp;

struct Asker {
  PcSampling sampling{true};
  kfd::PcSampleInfo info{};
  kfd::PcSample request{};

  int ask(PcSampleOp op, uint32_t session = 0, uint32_t count = 1, uint32_t flags = 0) {
    request = {.info = count == 0 ? 0 : reinterpret_cast<uint64_t>(&info),
               .count = count,
               .op = op,
               .gpu_id = 0,
               .session = session,
               .flags = flags,
               .reserved = 0};
    return sampling.answer(request);
  }
  int create(uint64_t interval, kfd::PcSampleMethod method = kfd::PcSampleMethod::kHostTrap,
             kfd::PcSampleUnit unit = kfd::PcSampleUnit::kMicroseconds) {
    info = {
        .interval = interval, .least = 0, .most = 0, .flags = 0, .method = method, .unit = unit};
    return ask(PcSampleOp::kCreate);
  }
};

TEST(PcSampling, LayoutsAreThoseOfTheInterface) {
  EXPECT_EQ(sizeof(kfd::PcSampleInfo), 40u);
  EXPECT_EQ(sizeof(kfd::PcSample), 32u);
}

TEST(PcSampling, OffersHostTrapsByTime) {
  Asker asker;
  EXPECT_EQ(asker.ask(PcSampleOp::kQuery, 0, 0), 0);
  EXPECT_EQ(asker.request.count, 1u);
  EXPECT_EQ(asker.ask(PcSampleOp::kQuery, 0, 5), 0);
  EXPECT_EQ(asker.request.count, 1u);
  EXPECT_EQ(asker.info.method, kfd::PcSampleMethod::kHostTrap);
  EXPECT_EQ(asker.info.unit, kfd::PcSampleUnit::kMicroseconds);
  EXPECT_EQ(asker.info.least, 1u);
  EXPECT_EQ(asker.info.most, ~uint64_t{0});
  // While a session exists, what it excludes is offered only to queries for all.
  ASSERT_EQ(asker.create(500), 0);
  EXPECT_EQ(asker.ask(PcSampleOp::kQuery), 0);
  EXPECT_EQ(asker.info.interval, 500u);
  EXPECT_EQ(asker.ask(PcSampleOp::kQuery, 0, 1, kfd::kPcSampleQueryAll), 0);
  EXPECT_EQ(asker.info.interval, 0u);
}

TEST(PcSampling, RefusesWhatItDoesNotOffer) {
  Asker asker;
  EXPECT_EQ(asker.create(0), EINVAL);
  EXPECT_EQ(asker.create(100, kfd::PcSampleMethod::kStochastic), EOPNOTSUPP);
  EXPECT_EQ(asker.create(100, kfd::PcSampleMethod::kHostTrap, kfd::PcSampleUnit::kClockCycles),
            EOPNOTSUPP);
  EXPECT_EQ(asker.ask(PcSampleOp::kCreate, 0, 0), EINVAL);
  EXPECT_EQ(asker.ask(static_cast<PcSampleOp>(5)), EINVAL);
  PcSampling none{false};
  kfd::PcSample request{};
  EXPECT_EQ(none.answer(request), EOPNOTSUPP);
}

TEST(PcSampling, TrapsWavesWhileASessionRuns) {
  Asker asker;
  const isa::HostTraps& traps = asker.sampling.traps();
  ASSERT_EQ(asker.create(100), 0);
  const uint32_t first = asker.request.session;
  EXPECT_NE(first, 0u);
  EXPECT_EQ(asker.create(200), EBUSY);
  ASSERT_EQ(asker.create(100), 0);
  const uint32_t second = asker.request.session;
  EXPECT_NE(second, first);
  EXPECT_FALSE(traps.is_on());
  EXPECT_EQ(asker.ask(PcSampleOp::kStop, first), EALREADY);
  EXPECT_EQ(asker.ask(PcSampleOp::kStart, first), 0);
  EXPECT_EQ(asker.ask(PcSampleOp::kStart, first), EALREADY);
  EXPECT_EQ(asker.ask(PcSampleOp::kStart, second), 0);
  EXPECT_TRUE(traps.is_on());
  EXPECT_EQ(asker.ask(PcSampleOp::kDestroy, first), EBUSY);
  EXPECT_EQ(asker.ask(PcSampleOp::kStop, first), 0);
  EXPECT_TRUE(traps.is_on());
  EXPECT_EQ(asker.ask(PcSampleOp::kStop, second), 0);
  EXPECT_FALSE(traps.is_on());
  EXPECT_EQ(asker.ask(PcSampleOp::kDestroy, first), 0);
  EXPECT_EQ(asker.ask(PcSampleOp::kStart, first), EINVAL);
  EXPECT_EQ(asker.ask(PcSampleOp::kDestroy, second), 0);
  EXPECT_EQ(asker.create(200), 0);
}

}  // namespace
}  // namespace softgpu
