#include "store/reader.h"

#include "base/gzip_test_support.h"
#include "base/test_support.h"
#include "store/fixtures_test_support.h"

namespace sonde::store {
namespace {

using test::gzip;
using namespace testing;

// The one line that opening `path` fails with; it must name the file.
std::string failure(const std::string& path) {
  const auto reader = Reader::open(path);
  EXPECT_FALSE(reader.ok()) << path;
  if (reader.ok()) return "";
  const std::string line = reader.error().to_line();
  EXPECT_EQ(line.rfind(path + ": ", 0), 0u) << line;
  EXPECT_FALSE(has(line, "\n"));
  return line.substr(path.size() + 2);
}

class ReaderOfFlavour : public ::testing::TestWithParam<Flavour> {
 protected:
  testing::TemporaryDirectory directory_;
  std::string path_ = testing::make_example(directory_, GetParam());
};

INSTANTIATE_TEST_SUITE_P(Flavours, ReaderOfFlavour, ::testing::ValuesIn(testing::kAllFlavours),
                         [](const auto& flavour) { return flavour_name(flavour.param); });

TEST_P(ReaderOfFlavour, ShowsTheSameShape) {
  const std::string before = testing::read_bytes(path_);
  {
    Reader reader = open_reader(path_);
    EXPECT_EQ(reader.flavour(), GetParam());
    EXPECT_FALSE(reader.made_by_sonde());
    EXPECT_EQ(reader.notes(), Lines{});
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_string"), 13);
    EXPECT_EQ(rows(reader, "SELECT string FROM v_ustring WHERE id = 10"), Lines{"n=4096"});
    const bool v3 = GetParam() == Flavour::kV3;
    EXPECT_EQ(rows(reader, "SELECT * FROM v_api WHERE id = 10"),
              Lines{v3 ? "10|4711|4712|50|53|2|11|12|10" : "10|4711|4712|50|53|2|-|-|10"});
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_api"), 8);
    EXPECT_EQ(rows(reader, "SELECT * FROM v_op WHERE id = 2"), Lines{"2|2|1|0|150|250|8|5"});
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_op"), 7);
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_api_op"), 7);
    EXPECT_EQ(
        rows(reader, "SELECT * FROM v_op_detail WHERE op_id IN (1, 2, 3, 7) ORDER BY op_id"),
        (Lines{"1|4711|10|-|-|-|512|128|1|8|4|1|512|16|0", "2|4711|11|-|-|-|-|-|-|-|-|-|-|-|0",
               "3|4711|12|-|-|21474836480|-|-|-|-|-|-|-|-|0",
               "7|4711|13|-|-|-|-|-|-|-|-|-|-|-|0"}));
    EXPECT_EQ(rows(reader,
                   "SELECT api_id, size_bytes, width, height, sync, pinned FROM v_copy "
                   "ORDER BY api_id"),
              (Lines{"12|21474836480|-|-|1|0",
                     GetParam() == Flavour::kV1 ? "13|-|-|-|0|0" : "13|-|-|-|0|1"}));
    EXPECT_EQ(rows(reader, "SELECT * FROM v_process"), Lines{"4711|4711|-|50|88|-|-|-"});
    EXPECT_EQ(rows(reader, "SELECT * FROM v_thread"), Lines{"4711|4711|4712|-"});
    EXPECT_EQ(rows(reader, "SELECT * FROM v_device ORDER BY gpu_id"),
              (Lines{"2|-|-|-|-|-|-|-", "3|-|-|-|-|-|-|-"}));
    EXPECT_TRUE(rows(reader, "SELECT * FROM v_counter").empty());
    EXPECT_EQ(rows(reader, "SELECT * FROM v_monitor"),
              GetParam() == Flavour::kV1 ? Lines{} : Lines{"1|gpu|2|sclk|0|50|1700"});
  }
  EXPECT_EQ(testing::read_bytes(path_), before);
}

TEST_P(ReaderOfFlavour, CannotWrite) {
  Reader reader = open_reader(path_);
  const std::string other = directory_ / "other.rpd";
  for (const std::string& sql :
       {std::string("DELETE FROM rocpd_op"), std::string("CREATE TABLE t (a)"),
        "ATTACH '" + other + "' AS other", "VACUUM INTO '" + other + "'",
        std::string("SELECT load_extension('x')")}) {
    EXPECT_FALSE(reader.database().exec(sql).ok()) << sql;
  }
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_P(ReaderOfFlavour, ReadsGzip) {
  const std::string zipped = directory_ / "zipped.rpd.gz";
  testing::write_bytes(zipped, gzip(testing::read_bytes(path_)));
  Reader reader = open_reader(zipped);
  EXPECT_EQ(reader.flavour(), GetParam());
  EXPECT_EQ(reader.path(), zipped);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM v_op"), 7);
}

class ReaderTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& bytes) {
    testing::write_bytes(directory_ / name, bytes);
    return directory_ / name;
  }
  std::string file_with(const std::string& name, const std::string& sql) {
    testing::run_sql(directory_ / name, sql);
    return directory_ / name;
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(ReaderTest, SaysWhatIsWrongWithAFile) {
  EXPECT_TRUE(has(failure(directory_ / "none.rpd"), "No such file"));
  EXPECT_TRUE(has(failure(directory_.path()), "a directory, not a trace"));
  EXPECT_TRUE(has(failure(file("empty", "")), "the file is empty"));
  EXPECT_TRUE(has(failure(file("short", "S")), "not an SQLite file"));
  EXPECT_TRUE(has(failure(file("text", std::string(10000, 'x'))), "not an SQLite file"));
  EXPECT_TRUE(
      has(failure(file("magic", std::string("SQLite format 3\0", 16))), "not an SQLite file"));
  EXPECT_TRUE(has(failure(file_with("other", "CREATE TABLE t (a)")), "no table rocpd_string"));
  EXPECT_TRUE(
      has(failure(file_with("sdk", "CREATE TABLE rocpd_kernel_dispatch_0001 (id)")), "rocprofv3"));
}

TEST_F(ReaderTest, SaysWhatIsWrongWithAGzipFile) {
  const std::string whole =
      gzip(testing::read_bytes(testing::make_example(directory_, Flavour::kV3)));
  EXPECT_TRUE(has(failure(file("cut.gz", whole.substr(0, whole.size() / 2))), "cut off"));
  EXPECT_TRUE(has(failure(file("cut_end.gz", whole.substr(0, whole.size() - 3))), "cut off"));
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x55);
  EXPECT_TRUE(has(failure(file("flipped.gz", flipped)), "gzip"));
  EXPECT_TRUE(has(failure(file("text.gz", gzip("hello"))), "does not hold an .rpd"));
  EXPECT_TRUE(has(failure(file("magic.gz", "\x1f\x8b")), "gzip"));
}

// Whatever is cut off or flipped: an error or an answer, and never the end of the process.
TEST_F(ReaderTest, DamagedPagesGiveAnErrorOrAnAnswer) {
  const std::string whole = testing::read_bytes(testing::make_example(directory_, Flavour::kV3));
  int errors = 0;
  const auto ask = [&](const std::string& bytes) {
    auto reader = Reader::open(file("damaged", bytes));
    if (!reader) {
      ++errors;
      return;
    }
    for (const char* view : {"v_api", "v_op", "v_op_detail", "v_copy", "v_string", "v_monitor",
                             "sonde_top", "sonde_busy", "sonde_kernel", "sonde_copy"}) {
      auto query = reader->database().prepare(std::string("SELECT * FROM ") + view);
      for (bool more = query.ok(); more;) {
        auto step = query->step();
        if (!step) ++errors;
        more = step && *step;
      }
    }
  };
  for (size_t size = 100; size < whole.size(); size += 3001) ask(whole.substr(0, size));
  EXPECT_GT(errors, 0);
  uint32_t random = 1;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = whole;
    for (int flip = 0; flip < 8; ++flip) {
      random = random * 1664525 + 1013904223;
      bytes[(random >> 4) % bytes.size()] = static_cast<char>(random >> 24);
    }
    ask(bytes);
  }
}

TEST_F(ReaderTest, CutOffFileNamesItself) {
  std::string sql = "BEGIN;" + testing::ddl::v3();
  for (int i = 0; i < 5000; ++i) sql += "INSERT INTO rocpd_op VALUES (NULL, 0, 0, 0, 1, 2, 1, 1);";
  const std::string whole = file_with("whole", sql + "COMMIT;");
  const std::string bytes = testing::read_bytes(whole);
  const std::string path = file("cut", bytes.substr(0, bytes.size() / 2));
  auto reader = Reader::open(path);
  Status status = ok_status();
  if (reader) {
    const auto count = reader->database().integer("SELECT sum(start_ns) FROM v_op");
    ASSERT_FALSE(count.ok());
    status = count.error();
  } else {
    status = reader.error();
  }
  EXPECT_EQ(status.error().to_line().rfind(path + ": the file is damaged or cut off", 0), 0u)
      << status.error().to_line();
}

TEST_F(ReaderTest, ViewsAndVirtualTablesInTheFileAreNotRun) {
  const std::string base = testing::ddl::v3() + "DROP TABLE rocpd_op;";
  EXPECT_TRUE(has(
      failure(file_with("view", base + "CREATE VIEW rocpd_op AS WITH RECURSIVE r(x) AS (SELECT 1 "
                                       "UNION ALL SELECT x FROM r) SELECT * FROM r")),
      "rocpd_op is not a plain table"));
  EXPECT_TRUE(has(
      failure(file_with("virtual", base + "CREATE VIRTUAL TABLE rocpd_op USING fts5 (id, gpuId, "
                                          "queueId, sequenceId, start, \"end\", "
                                          "description_id, opType_id)")),
      "rocpd_op is not a plain table"));
  EXPECT_TRUE(
      has(failure(file_with("generated",
                            base + "CREATE TABLE rocpd_op (id, gpuId, queueId, sequenceId, start, "
                                   "\"end\" AS (start + 1), description_id, opType_id)")),
          "rocpd_op has no column end"));
}

TEST_F(ReaderTest, ViewsOfTheFileDoNotReplaceOurs) {
  const std::string path = file_with(
      "views", testing::ddl::v3() + testing::example_rows(Flavour::kV3) +
                   "CREATE VIEW v_op AS SELECT 1 AS id; CREATE VIEW sonde_top AS SELECT 1;");
  Reader reader = open_reader(path);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM v_op"), 7);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM sonde_top"), 4);
}

TEST_F(ReaderTest, TriggersOfTheFileDoNotFire) {
  const std::string path = file_with("triggers",
                                     "CREATE TABLE t (a); CREATE TABLE u (a);"
                                     "CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT "
                                     "INTO u VALUES (1); END;");
  auto database = value_of(Database::open(path, Database::Mode::kReadWrite));
  ASSERT_TRUE(database.exec("INSERT INTO t VALUES (1)").ok());
  EXPECT_EQ(number(database, "SELECT count(*) FROM u"), 0);
}

TEST_F(ReaderTest, OddValuesAreKept) {
  const std::string path =
      file_with("odd",
                "CREATE TABLE rocpd_string (id, string);"
                "CREATE TABLE rocpd_api (id, pid, tid, start, \"end\", apiName_id, args_id);"
                "CREATE TABLE rocpd_op (id, gpuId, queueId, sequenceId, start, \"end\", "
                "description_id, opType_id);"
                "INSERT INTO rocpd_op VALUES (1, 'x', NULL, 1.5, 'abc', NULL, 'y', NULL), "
                "(NULL, 0, 0, 0, 9223372036854775807, -9223372036854775808, 1, 1);"
                "INSERT INTO rocpd_api VALUES ('a', 'b', 'c', 'd', 'e', 'f', 'g');");
  Reader reader = open_reader(path);
  EXPECT_EQ(reader.flavour(), Flavour::kV2b);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM v_op"), 2);
  for (const char* view : {"sonde_op", "sonde_api", "sonde_kernel", "sonde_copy", "sonde_top",
                           "sonde_busy", "v_process", "v_thread", "v_device"}) {
    auto query = reader.database().prepare(std::string("SELECT * FROM ") + view);
    ASSERT_TRUE(query.ok()) << view;
    for (bool more = true; more;) {
      auto step = query->step();
      more = step && *step;
    }
  }
}

TEST_F(ReaderTest, MissingTablesAreEmpty) {
  const std::string path =
      file_with("small",
                "CREATE TABLE rocpd_string (id, string);"
                "CREATE TABLE rocpd_api (id, pid, tid, start, \"end\", apiName_id, args_id);"
                "CREATE TABLE rocpd_op (id, gpuId, queueId, sequenceId, start, \"end\", "
                "description_id, opType_id);"
                "CREATE TABLE rocpd_copyapi (api_ptr_id, size);");
  Reader reader = open_reader(path);
  EXPECT_EQ(reader.notes(), Lines{"rocpd_copyapi has no column stream"});
  for (const char* view : {"v_api_op", "v_monitor", "v_copy", "v_op_detail"}) {
    EXPECT_TRUE(rows(reader, std::string("SELECT * FROM ") + view).empty()) << view;
  }
}

// schema_version says 2 or nothing at all; the tables decide.
TEST_F(ReaderTest, FlavourComesFromTheTables) {
  const std::string path =
      file_with("lie", testing::ddl::v3() +
                           "UPDATE rocpd_metadata SET value = '2' WHERE tag = 'schema_version'");
  EXPECT_EQ(open_reader(path).flavour(), Flavour::kV3);
  const std::string v2 = file_with("lie2", testing::ddl::v2c() + "DELETE FROM rocpd_metadata");
  EXPECT_EQ(open_reader(v2).flavour(), Flavour::kV2c);
}

// RPD's newer tracer leaves the file in WAL mode; with or without a log beside it.
TEST_F(ReaderTest, WriteAheadLogsAreReadWithoutTouchingTheFile) {
  const std::string source = directory_ / "source.rpd";
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(source.c_str(), &handle), SQLITE_OK);
  const std::string sql = "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;" +
                          testing::ddl::v3() + testing::example_rows(Flavour::kV3);
  ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(number(open_reader(source).database(), "SELECT count(*) FROM v_op"), 7);  // live
  const std::string killed = directory_ / "killed.rpd";
  std::filesystem::copy_file(source, killed);
  std::filesystem::copy_file(source + "-wal", killed + "-wal");
  sqlite3_close(handle);

  EXPECT_EQ(number(open_reader(killed).database(), "SELECT count(*) FROM v_op"), 7);
  EXPECT_FALSE(std::filesystem::exists(killed + "-shm"));
  EXPECT_GT(std::filesystem::file_size(killed + "-wal"), 0u);

  EXPECT_EQ(number(open_reader(source).database(), "SELECT count(*) FROM v_op"), 7);  // closed
  EXPECT_FALSE(std::filesystem::exists(source + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(source + "-shm"));
}

TEST_F(ReaderTest, NamesWithAMeaningForSqliteAreFiles) {
  const std::string example = testing::make_example(directory_, Flavour::kV3);
  for (const char* name : {"a?mode=memory", "100%.rpd", "#1.rpd", "file:x"}) {
    std::filesystem::copy_file(example, directory_ / name);
    EXPECT_EQ(number(open_reader(directory_ / name).database(), "SELECT count(*) FROM v_op"), 7);
  }
  const auto nothing = Reader::open("");
  EXPECT_FALSE(nothing.ok());
  EXPECT_FALSE(Reader::open(":memory:").ok());
}

TEST_F(ReaderTest, RealFilesHaveTheirRows) {
  const struct {
    const char* file;
    int64_t strings, apis, ops, links, monitors, copies, longest;
  } cases[] = {{"matmul_result.rpd", 52, 125, 85, 85, 15, 55, 0},
               {"matmul_result_large.rpd", 52, 125, 85, 85, 62, 55, 0},
               {"mytrace.rpd.gz", 129, 14736, 10124, 10124, 81, 536, 5085}};
  for (const auto& expected : cases) {
    const std::string path = test::real_file(std::string("rpd/") + expected.file);
    if (path.empty()) GTEST_SKIP() << expected.file << " is not on this machine";
    Reader reader = open_reader(path);
    EXPECT_EQ(reader.flavour(), Flavour::kV2a);
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_string"), expected.strings);
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_api"), expected.apis);
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_op"), expected.ops);
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_api_op"), expected.links);
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_op_detail"), expected.ops);
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_monitor"), expected.monitors);
    EXPECT_EQ(number(reader, "SELECT count(*) FROM v_copy"), expected.copies);
    EXPECT_GE(number(reader, "SELECT max(length(string)) FROM v_string"), expected.longest);
  }
}

}  // namespace
}  // namespace sonde::store
