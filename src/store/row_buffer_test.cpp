#include "store/row_buffer.h"

#include <map>
#include <random>

#include "store/detail_rows.h"
#include "store/fixtures_test_support.h"

namespace sonde::store {
namespace {

using namespace testing;

class RowBufferTest : public ::testing::Test {
 protected:
  RowBufferTest() {
    expect_ok(database_.exec(
        "BEGIN; CREATE TABLE numbered (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, value);"
        "CREATE TABLE sonde_op_detail (op_id integer PRIMARY KEY, process_id, api_id, queued_ns, "
        "submitted_ns, bytes, grid_x, grid_y, grid_z, group_x, group_y, group_z, "
        "group_segment_bytes, private_segment_bytes, status)"));
  }

  testing::TemporaryDirectory directory_;
  Database database_ = Database::open(directory_ / "rows.db", Database::Mode::kCreate).value();
};

// A column that changes its type and its value at random, over several full statements, next to one
// that stays: what is bound already must never be mistaken for what is to be bound.
TEST_F(RowBufferTest, EveryValueIsItsOwnRows) {
  expect_ok(database_.exec("CREATE TABLE mixed (a, b)"));
  RowBuffer<2> buffer;
  expect_ok(buffer.prepare(database_, "INSERT OR FAIL INTO mixed (a, b)"));
  std::mt19937 random(1);
  Lines expected;
  for (int i = 0; i < 5000; ++i) {
    const int64_t value = static_cast<int64_t>(random() % 3);
    switch (random() % 4) {
      case 0:
        buffer.add(value, int64_t{7});
        expected.push_back("integer|" + std::to_string(value) + "|7");
        break;
      case 1:
        buffer.add(static_cast<double>(value) + 0.5, int64_t{7});
        expected.push_back("real|" + std::to_string(value) + ".5|7");
        break;
      case 2:
        buffer.add(std::string_view("text").substr(static_cast<size_t>(value)), int64_t{7});
        expected.push_back("text|" + std::string("text").substr(static_cast<size_t>(value)) + "|7");
        break;
      default:
        buffer.add(Nullable{-1 - value}, int64_t{7});
        expected.push_back("null|NULL|7");
        break;
    }
    expect_ok(buffer.make_room());
  }
  expect_ok(buffer.flush());
  EXPECT_EQ(rows(database_, "SELECT typeof(a), coalesce(a, 'NULL'), b FROM mixed ORDER BY rowid"),
            expected);
}

// SQLite goes on after the highest id that ever was, and so must we.
TEST_F(RowBufferTest, NumbersGoOnAfterRowsThatAreGone) {
  expect_ok(
      database_.exec("INSERT INTO numbered (id, value) VALUES (5, 0), (9, 0);"
                     "DELETE FROM numbered WHERE id = 9"));
  NumberedRows<1> numbered;
  expect_ok(numbered.prepare(database_, "numbered", "value"));
  expect_ok(numbered.go_on(database_));
  EXPECT_EQ(numbered.next_id(), 10);
  numbered.add(int64_t{1});
  expect_ok(numbered.flush());
  EXPECT_EQ(number(database_, "SELECT id FROM numbered WHERE value = 1"), 10);
}

TEST_F(RowBufferTest, OtherNumbersThanExpectedAreAnError) {
  NumberedRows<1> numbered;
  expect_ok(numbered.prepare(database_, "numbered", "value"));
  expect_ok(numbered.go_on(database_));
  expect_ok(database_.exec("INSERT INTO numbered (value) VALUES (0)"));
  numbered.add(int64_t{1});
  const auto status = numbered.flush();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().to_line(), "numbered: its rows got other ids than expected");
}

// Details in order, with gaps and told again, at random: the last that was said of an op stays.
TEST_F(RowBufferTest, LastDetailOfEachOpStays) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    expect_ok(database_.exec("DELETE FROM sonde_op_detail"));
    DetailRows details;
    expect_ok(details.prepare(database_));
    expect_ok(details.go_on(database_));
    std::map<int64_t, int64_t> said;
    int64_t newest = 0;
    const unsigned gap_every = 1 + seed * 50, again_every = 1 + seed % 4;
    for (int i = 0; i < 3000; ++i) {
      newest += random() % gap_every == 0 ? 3 : 1;
      OpDetailRow row;
      row.op_id = newest;
      row.status = i;
      details.add(row);
      expect_ok(details.make_room());
      said[row.op_id] = row.status;
      if (random() % again_every != 0) continue;
      row.op_id = newest - static_cast<int64_t>(random() % std::min<int64_t>(newest, 300));
      row.status = -i;
      details.add(row);
      expect_ok(details.make_room());
      said[row.op_id] = row.status;
    }
    expect_ok(details.flush());
    Lines expected;
    for (const auto& [op, status] : said) {
      expected.push_back(std::to_string(op) + "|" + std::to_string(status));
    }
    EXPECT_EQ(rows(database_, "SELECT op_id, status FROM sonde_op_detail ORDER BY op_id"), expected)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace sonde::store
