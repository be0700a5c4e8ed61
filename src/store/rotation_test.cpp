#include "store/rotation.h"

#include "store/ingest/ingest_test_support.h"

namespace sonde::store {
namespace {

using namespace testing;

constexpr uint64_t kSpool = 0xabc;
constexpr int kParts = 4;

// A recording of kParts parts; `feed_part` records into each, by its number.
class RotationTest : public ::testing::Test {
 protected:
  template <typename Feed>
  void record(const Feed& feed_part) {
    PartStart start;
    for (int number = 1; number <= kParts; ++number) {
      Writer writer = value_of(
          Writer::open(part(number), number == 1 ? Writer::Mode::kCreate : Writer::Mode::kAppend));
      Ingest ingest = value_of(Ingest::open(writer, 7, "/tmp/session"));
      for (const int64_t ns : {1000, 2000}) ingest.clocks(reading(number * 10'000 + ns));
      feed(ingest, ring(kSpool, 100, 0), some_definitions());
      feed_part(ingest, number);
      if (number == kParts) return expect_ok(ingest.finish());
      expect_ok(ingest.commit());
      start = value_of(hand_over(writer.database(), start, part(number + 1), number * 10'000));
      expect_ok(ingest.end_part());
    }
  }
  std::string part(int number) const { return folder_ / (std::to_string(number) + ".rpd"); }
  // Of each part.
  Rows values(const std::string& sql) const {
    Rows all;
    for (int number = 1; number <= kParts; ++number) {
      auto database = value_of(Database::open(part(number), Database::Mode::kReadOnly));
      for (auto& row : rows(database, sql)) all.push_back(std::move(row));
    }
    return all;
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(RotationTest, AnOperationWhoseCallDoesNotComeGoesOnOnce) {
  record([](Ingest& ingest, int number) {
    if (number == 1) feed(ingest, ring(kSpool, 100, 1, 101), op(6, kernel(11, 1500, 1600)));
  });
  EXPECT_EQ(values("select count(*) from rocpd_op"), (Rows{"0", "1", "0", "0"}));
  EXPECT_EQ(values("select count(*) from sonde_op_detail"), (Rows{"0", "1", "0", "0"}));
}

TEST_F(RotationTest, AnOperationIsLinkedToACallOfTheNextPart) {
  record([](Ingest& ingest, int number) {
    const auto own = ring(kSpool, 100, 1, 101);
    if (number == 1) feed(ingest, own, op(6, kernel(11, 1500, 1600)));
    if (number == 2) feed(ingest, own, call(5, at(1400), at(1450), 11));
  });
  EXPECT_EQ(values("select count(*) from rocpd_op"), (Rows{"0", "1", "0", "0"}));
  EXPECT_EQ(values("select count(*) from rocpd_api"), (Rows{"0", "1", "0", "0"}));
  EXPECT_EQ(values("select count(*) from rocpd_api_ops"), (Rows{"0", "1", "0", "0"}));
}

}  // namespace
}  // namespace sonde::store
