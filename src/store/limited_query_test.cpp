#include "store/limited_query.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/time.h"
#include "store/fixtures_test_support.h"
#include "store/reader.h"

namespace sonde::store {
namespace {

using namespace testing;

constexpr const char* kEndless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";

class LimitedQuery : public ::testing::Test {
 protected:
  void SetUp() override { reader_.emplace(open_reader(make_example(directory_, kAllFlavours[0]))); }
  Result<QueryResult> ask(const std::string& sql, const QueryLimits& limits = {}) {
    return limited_query(reader_->database(), sql, limits);
  }

  TemporaryDirectory directory_;
  std::optional<Reader> reader_;
};

TEST_F(LimitedQuery, GivesValuesAsJson) {
  const auto got =
      value_of(ask("SELECT 1 AS a, 0.5, 'x\"y', NULL, x'0102', 1e999, count(*) > 0 FROM v_op"));
  EXPECT_EQ(got.columns.at(0), "a");
  ASSERT_EQ(got.rows.size(), 1U);
  EXPECT_EQ(got.rows[0], (std::vector<std::string>{"1", "0.5", "\"x\\\"y\"", "null", "\"2 bytes\"",
                                                   "null", "1"}));
  EXPECT_FALSE(got.cut);
}

TEST_F(LimitedQuery, GivesWholeNumbersThatADoubleWouldRoundAsText) {
  const auto got = value_of(
      ask("SELECT 1700000000123456789, -1152921504606846977, 9007199254740991, -9007199254740991, "
          "9007199254740992"));
  EXPECT_EQ(got.rows.at(0), (std::vector<std::string>{
                                "\"1700000000123456789\"", "\"-1152921504606846977\"",
                                "9007199254740991", "-9007199254740991", "\"9007199254740992\""}));
}

TEST_F(LimitedQuery, OnlyReads) {
  for (const char* sql :
       {"DELETE FROM rocpd_op", "CREATE TABLE t (a)", "ATTACH '/tmp/other.db' AS o", "VACUUM",
        "PRAGMA table_info(rocpd_op)", "PRAGMA writable_schema = 1", "SELECT load_extension('x')",
        "SELECT readfile('/etc/passwd')", "SELECT * FROM pragma_database_list",
        "SELECT 1; SELECT 2", "", "SELECT", "BEGIN", "EXPLAIN DELETE FROM rocpd_op"}) {
    EXPECT_FALSE(ask(sql).ok()) << sql;
  }
  EXPECT_TRUE(reader_->database().exec("PRAGMA user_version").ok()) << "only while a query runs";
}

TEST_F(LimitedQuery, EndsAtRowsBytesAndTime) {
  const auto rows = ask(std::string(kEndless) + "i FROM n", {.rows = 1000});
  ASSERT_TRUE(rows.ok()) << rows.error().to_line();
  EXPECT_EQ(rows->rows.size(), 1000U);
  EXPECT_TRUE(rows->cut);
  const auto bytes = ask(std::string(kEndless) + "printf('%1000d', i) FROM n", {.bytes = 50'000});
  ASSERT_TRUE(bytes.ok()) << bytes.error().to_line();
  EXPECT_TRUE(bytes->cut);
  EXPECT_LT(bytes->rows.size(), 60U);
  EXPECT_FALSE(ask("SELECT zeroblob(1000000)", {.bytes = 50'000}).ok()) << "one large value";
  const int64_t begin_ns = monotonic_now_ns();
  const auto late = ask(std::string(kEndless) + "count(*) FROM n", {.time_ns = 200'000'000});
  ASSERT_FALSE(late.ok());
  EXPECT_TRUE(has(late.error().to_line(), "longer than 200"));
  EXPECT_LT(monotonic_now_ns() - begin_ns, 5'000'000'000);
  EXPECT_TRUE(ask("SELECT 1").ok()) << "the connection is as before";
}

}  // namespace
}  // namespace sonde::store
