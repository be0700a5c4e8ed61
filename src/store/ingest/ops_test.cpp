// Which call an operation is linked to, where a call launches many.
#include <gtest/gtest.h>

#include "store/ingest/ingest_test_support.h"

namespace sonde::store {
namespace {

using namespace testing;

constexpr uint64_t kSpool = 0xabc;
constexpr uint64_t kGraph = 1;        // correlation
constexpr uint64_t kOthers = 10'000;  // calls between two operations of the graph
constexpr int kRounds = 3;

TEST(Ops, AGraphKeepsItsCallWhileManyOthersGetOperations) {
  Recording file(1000, 2'000'000'000);
  const auto own = ring(kSpool, 100, 1, 101);
  ASSERT_TRUE(feed(*file, ring(kSpool, 100, 0), some_definitions()));
  ASSERT_TRUE(feed(*file, own, call(5, at(1), at(2), kGraph) + op(6, kernel(kGraph, 10, 20))));
  uint64_t correlation = kGraph;
  for (int round = 1; round <= kRounds; ++round) {
    for (uint64_t i = 0; i < kOthers; ++i) {
      ++correlation;
      feed(*file, own, call(5, at(3), at(4), correlation) + op(6, kernel(correlation, 30, 40)));
    }
    feed(*file, own, op(6, kernel(kGraph, 50, 60)));
  }
  file.finish();
  EXPECT_EQ(
      file.value("select count(*) from rocpd_api_ops where api_id = (select id from rocpd_api "
                 "where start = 1)"),
      std::to_string(1 + kRounds));
  EXPECT_EQ(file.value("select count(*) from sonde_op_detail where api_id is null"), "0");
}

}  // namespace
}  // namespace sonde::store
