#include "store/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>

#include "store/fixtures_test_support.h"

namespace sonde::store {
namespace {

using namespace testing;

class DatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    database_ =
        std::make_unique<Database>(value_of(Database::open(path_, Database::Mode::kCreate)));
    ASSERT_TRUE(database_->exec("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x')").ok());
  }

  testing::TemporaryDirectory directory_;
  std::string path_ = directory_ / "t.db";
  std::unique_ptr<Database> database_;
};

TEST_F(DatabaseTest, IsForItsOwnerAloneWhateverTheUmask) {
  for (const mode_t mask : {0, 022, 0777}) {
    const std::string path = directory_ / ("m" + std::to_string(mask));
    const mode_t before = ::umask(mask);
    const bool created = Database::open(path, Database::Mode::kCreate).ok();
    ::umask(before);
    ASSERT_TRUE(created);
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
}

TEST_F(DatabaseTest, BindsAndReturnsEveryType) {
  auto query = value_of(database_->prepare("SELECT ?1, ?2, ?3, ?4, ?5"));
  query.bind(1, int64_t{-5000000000});
  query.bind(2, 2.5);
  query.bind(3, std::string_view("a\0b", 3));
  query.bind(4, std::string_view());
  query.bind_null(5);
  ASSERT_TRUE(*query.step());
  EXPECT_EQ(query.integer(0), -5000000000);
  EXPECT_EQ(query.real(1), 2.5);
  EXPECT_EQ(query.text(2), std::string_view("a\0b", 3));
  EXPECT_EQ(query.column_type(3), SQLITE_TEXT);
  EXPECT_EQ(query.text(3), "");
  EXPECT_TRUE(query.is_null(4));
  EXPECT_EQ(query.text(4), "");
  EXPECT_EQ(query.column_count(), 5);
  EXPECT_STREQ(query.column_name(0), "?1");
  EXPECT_FALSE(*query.step());
}

TEST_F(DatabaseTest, FailedBindFailsTheStep) {
  auto query = value_of(database_->prepare("SELECT ?1"));
  query.bind(2, int64_t{1});
  EXPECT_FALSE(query.step().ok());
}

TEST_F(DatabaseTest, PrepareTakesOneStatement) {
  EXPECT_TRUE(database_->prepare("SELECT 1;  ").ok());
  EXPECT_TRUE(database_->prepare("SELECT 1; -- comment").ok());
  EXPECT_FALSE(database_->prepare("SELECT 1; DELETE FROM t").ok());
  EXPECT_FALSE(database_->prepare("SELECT 1; nonsense").ok());
  EXPECT_FALSE(database_->prepare("").ok());
  EXPECT_FALSE(database_->prepare("-- only a comment").ok());
}

TEST_F(DatabaseTest, ErrorsNameTheFileAndTheSql) {
  EXPECT_EQ(database_->prepare("SELECT absent FROM t").error().to_line(),
            path_ + ": no such column: absent in \"SELECT absent FROM t\"");
  EXPECT_EQ(database_->exec("NONSENSE").error().to_line(),
            path_ + ": near \"NONSENSE\": syntax error in \"NONSENSE\"");
}

TEST_F(DatabaseTest, ShortcutsTakeTheFirstRow) {
  EXPECT_EQ(number(*database_, "SELECT a FROM t"), 1);
  EXPECT_EQ(*database_->integer("SELECT a FROM t WHERE 0", 7), 7);
  EXPECT_EQ(*database_->integer("SELECT NULL", 8), 8);
  EXPECT_EQ(*database_->text("SELECT b FROM t"), "x");
  EXPECT_EQ(*database_->text("SELECT b FROM t WHERE 0"), "");
}

TEST_F(DatabaseTest, KnowsTablesAndColumns) {
  ASSERT_TRUE(database_->exec("CREATE VIEW v AS SELECT a AS c FROM t").ok());
  EXPECT_TRUE(*database_->has_table("T"));
  EXPECT_TRUE(*database_->has_table("v"));
  EXPECT_FALSE(*database_->has_table("u"));
  EXPECT_TRUE(*database_->has_column("t", "B"));
  EXPECT_TRUE(*database_->has_column("v", "c"));
  EXPECT_FALSE(*database_->has_column("t", "c"));
  EXPECT_FALSE(*database_->has_column("u", "c"));
}

TEST_F(DatabaseTest, TransactionWithoutCommitChangesNothing) {
  {
    auto transaction = value_of(Transaction::begin(*database_));
    ASSERT_TRUE(database_->exec("DELETE FROM t").ok());
  }
  EXPECT_EQ(number(*database_, "SELECT count(*) FROM t"), 1);
  {
    auto transaction = value_of(Transaction::begin(*database_));
    Transaction moved = std::move(transaction);
    ASSERT_TRUE(database_->exec("DELETE FROM t").ok());
    ASSERT_TRUE(moved.commit().ok());
  }
  EXPECT_EQ(number(*database_, "SELECT count(*) FROM t"), 0);
}

TEST_F(DatabaseTest, ReadOnlyCannotWrite) {
  auto reader = value_of(Database::open(path_, Database::Mode::kReadOnly));
  const auto status = reader.exec("DELETE FROM t");
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(has(status.error().to_line(), "cannot be written"));
}

TEST_F(DatabaseTest, OpenSaysWhatIsWrong) {
  EXPECT_TRUE(
      has(Database::open(path_, Database::Mode::kCreate).error().to_line(), "already exists"));
  EXPECT_TRUE(has(Database::open(directory_ / "none", Database::Mode::kReadWrite).error().to_line(),
                  "No such file"));
  EXPECT_TRUE(has(Database::open(directory_.path(), Database::Mode::kReadOnly).error().to_line(),
                  "directory"));
  const std::string nowhere = directory_ / "no/such/t.db";
  EXPECT_EQ(Database::open(nowhere, Database::Mode::kCreate).error().context, nowhere);
}

TEST_F(DatabaseTest, NamesAreQuoted) {
  EXPECT_EQ(quoted_name("plain"), "\"plain\"");
  EXPECT_EQ(quoted_name("a\"b"), "\"a\"\"b\"");
}

}  // namespace
}  // namespace sonde::store
