// Barriers and semaphores of waves, as AMD's guide defines them.
#include "isa/global_sync.h"

#include <gtest/gtest.h>

namespace softgpu::isa {
namespace {

TEST(GlobalSync, TheLastWaveOpensTheBarrierAndSetsTheNext) {
  GlobalSync sync;
  sync.set(3, 2);  // three waves
  const GlobalWait first = sync.arrive(3, 1), second = sync.arrive(3, 1);
  EXPECT_EQ(first.kind, GlobalWait::kBarrier);
  EXPECT_FALSE(sync.is_over(first));
  EXPECT_FALSE(sync.is_over(second));
  EXPECT_EQ(sync.arrive(3, 1).kind, GlobalWait::kNothing);
  EXPECT_TRUE(sync.is_over(first));
  EXPECT_TRUE(sync.is_over(second));
  // The next phase has two waves, and does not delay those of the first.
  const GlobalWait next = sync.arrive(3, 1);
  EXPECT_FALSE(sync.is_over(next));
  EXPECT_TRUE(sync.is_over(first));
  EXPECT_EQ(sync.arrive(3, 1).kind, GlobalWait::kNothing);
  EXPECT_TRUE(sync.is_over(next));
}

TEST(GlobalSync, SemaphoresAreTakenOnce) {
  GlobalSync sync;
  const GlobalWait waits = sync.take(0), too = sync.take(0);
  EXPECT_FALSE(sync.is_over(waits));
  sync.add(0, 1);
  EXPECT_TRUE(sync.is_over(waits));
  EXPECT_FALSE(sync.is_over(too));
  sync.release_all(0);
  EXPECT_TRUE(sync.is_over(too));
  sync.add(0, 2);
  EXPECT_EQ(sync.take(0).kind, GlobalWait::kNothing);
  EXPECT_FALSE(sync.is_over(sync.take(1)));
}

}  // namespace
}  // namespace softgpu::isa
