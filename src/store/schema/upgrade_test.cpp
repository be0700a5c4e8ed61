#include "store/schema/upgrade.h"

#include <algorithm>

#include "base/test_support.h"
#include "store/fixtures_test_support.h"
#include "store/writer.h"

namespace sonde::store {
namespace {

using namespace testing;

bool has_note(const UpgradeReport& report, const std::string& part) {
  return std::any_of(report.notes.begin(), report.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

class UpgradeOfFlavour : public ::testing::TestWithParam<Flavour> {
 protected:
  testing::TemporaryDirectory directory_;
  std::string input_ = testing::make_example(directory_, GetParam());
  std::string output_ = directory_ / "out.rpd";
};

INSTANTIATE_TEST_SUITE_P(Flavours, UpgradeOfFlavour, ::testing::ValuesIn(testing::kAllFlavours),
                         [](const auto& flavour) { return flavour_name(flavour.param); });

TEST_P(UpgradeOfFlavour, AnswersAreTheSame) {
  const std::string before = testing::read_bytes(input_);
  const UpgradeReport report = value_of(upgrade(input_, output_));
  EXPECT_EQ(testing::read_bytes(input_), before);
  EXPECT_EQ(report.from, GetParam());
  EXPECT_FALSE(std::filesystem::exists(output_ + "-journal"));
  Reader old = open_reader(input_), upgraded = open_reader(output_);
  EXPECT_EQ(upgraded.flavour(), Flavour::kV3);
  EXPECT_TRUE(upgraded.made_by_sonde());
  for (const char* sql :
       {"SELECT * FROM v_op ORDER BY id", "SELECT * FROM v_api_op ORDER BY 1, 2",
        "SELECT * FROM v_monitor", "SELECT * FROM v_string ORDER BY id",
        "SELECT id, pid, tid, start_ns, end_ns, name_id, args_id FROM v_api ORDER BY id",
        "SELECT * FROM v_op_detail ORDER BY op_id", "SELECT * FROM sonde_top",
        "SELECT * FROM sonde_ktop", "SELECT * FROM sonde_busy",
        "SELECT * FROM sonde_kernel ORDER BY op_id", "SELECT id, args FROM sonde_api ORDER BY id",
        "SELECT op_id, type, bytes, api_name FROM sonde_copy ORDER BY op_id",
        "SELECT * FROM v_process", "SELECT * FROM v_thread", "SELECT gpu_id FROM v_device"}) {
    EXPECT_EQ(rows(upgraded, sql), rows(old, sql)) << sql;
  }
  EXPECT_EQ(rows(upgraded, "PRAGMA integrity_check"), Lines{"ok"});
  EXPECT_EQ(rows(upgraded, "SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'"),
            Lines{"3"});
  EXPECT_EQ(number(upgraded, "SELECT count(*) FROM api"), 7);
}

TEST_P(UpgradeOfFlavour, SizesAreNumbers) {
  const UpgradeReport report = value_of(upgrade(input_, output_));
  Reader upgraded = open_reader(output_);
  EXPECT_EQ(rows(upgraded,
                 "SELECT api_ptr_id, typeof(size), size, typeof(width) FROM "
                 "rocpd_copyapi ORDER BY 1"),
            (Lines{"12|integer|21474836480|integer", "13|integer|0|integer"}));
  EXPECT_EQ(rows(upgraded, "SELECT bytes FROM sonde_op_detail WHERE op_id = 7"), Lines{"-"});
  EXPECT_EQ(has_note(report, "1 sizes of rocpd_cop"), true);
}

// In Sonde's own table; RPD's keeps what its tracer stored.
TEST_P(UpgradeOfFlavour, GridsCountWorkItems) {
  expect_ok(upgrade(input_, output_));
  Reader upgraded = open_reader(output_);
  EXPECT_EQ(
      rows(upgraded, "SELECT grid_x, grid_y, grid_z, group_x FROM sonde_op_detail WHERE op_id = 1"),
      Lines{"512|128|1|8"});
  EXPECT_EQ(rows(upgraded, "SELECT gridX, workgroupX FROM rocpd_kernelapi WHERE api_ptr_id = 10"),
            Lines{"64|8"});
}

TEST_P(UpgradeOfFlavour, UpgradedFilesCanBeUpgradedAndAppendedTo) {
  expect_ok(upgrade(input_, output_));
  const std::string again = directory_ / "again.rpd";
  expect_ok(upgrade(output_, again));
  {
    auto writer = value_of(Writer::open(again, Writer::Mode::kAppend));
    EXPECT_EQ(writer.string("gemm"), 8);
    EXPECT_EQ(writer.api({1, 1, 1, 1, 8, 0, 0, writer.ustring("x")}), 18);
    ASSERT_TRUE(writer.finish().ok());
  }
  Reader reader = open_reader(again);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM v_api"), 9);
  EXPECT_EQ(rows(reader, "SELECT args FROM api WHERE id = 18"), Lines{"x"});
  const std::string references = "FROM rocpd_metadata WHERE tag = 'references::rocpd_string.id'";
  EXPECT_EQ(number(reader, "SELECT count(*) " + references), 3);
  EXPECT_EQ(number(reader, "SELECT count(DISTINCT value) " + references), 3);
}

TEST_P(UpgradeOfFlavour, HasTheTablesAndViewsOfCallStacks) {
  expect_ok(upgrade(input_, output_));
  testing::run_sql(output_,
                   "INSERT INTO sonde_frame (id, kind, function) VALUES (1, 'native', 'f');"
                   "INSERT INTO sonde_stack (id, frame_id) VALUES (1, 1);"
                   "INSERT INTO sonde_sample (process_id, tid, time_ns, stack_id, cpu_ns, missed, "
                   "cost_ns, truncated, by_timer) VALUES (1, 1, 1500, 1, 10, 0, 0, 0, 1);");
  const std::string again = directory_ / "again.rpd";
  expect_ok(upgrade(output_, again));
  Reader reader = open_reader(again);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM sonde_sample"), 1);
  EXPECT_EQ(number(reader, "SELECT count(*) FROM sonde_cpu_top"), 1);
}

class UpgradeTest : public ::testing::Test {
 protected:
  testing::TemporaryDirectory directory_;
  std::string output_ = directory_ / "out.rpd";
};

TEST_F(UpgradeTest, NeverOverwrites) {
  const std::string input = testing::make_example(directory_, Flavour::kV2a);
  testing::write_bytes(output_, "precious");
  testing::write_bytes(output_ + "-journal", "journal");
  const auto report = upgrade(input, output_);
  ASSERT_FALSE(report.ok());
  EXPECT_TRUE(has(report.error().to_line(), "already exists"));
  EXPECT_EQ(testing::read_bytes(output_), "precious");
  EXPECT_EQ(testing::read_bytes(output_ + "-journal"), "journal");
  EXPECT_FALSE(upgrade(input, input).ok());
}

TEST_F(UpgradeTest, LeavesNothingAfterAnError) {
  const std::string input = directory_ / "cut.rpd";
  std::string sql = "BEGIN;" + testing::ddl::v3();
  for (int i = 0; i < 5000; ++i) sql += "INSERT INTO rocpd_op VALUES (NULL, 0, 0, 0, 1, 2, 1, 1);";
  testing::run_sql(input, sql + "COMMIT;");
  const std::string bytes = testing::read_bytes(input);
  testing::write_bytes(input, bytes.substr(0, bytes.size() / 2));
  EXPECT_FALSE(upgrade(input, output_).ok());
  EXPECT_FALSE(std::filesystem::exists(output_));
  EXPECT_FALSE(std::filesystem::exists(output_ + "-journal"));
  EXPECT_FALSE(upgrade(directory_ / "none.rpd", output_).ok());
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(UpgradeTest, KeepsExtensionsAndDeadTablesWithRows) {
  const std::string input = testing::make_example(directory_, Flavour::kV2a);
  testing::run_sql(
      input,
      "CREATE TABLE \"ext my \"\"table\"\"\" (api_ptr_id integer PRIMARY KEY, value blob, "
      "twice AS (api_ptr_id * 2));"
      "INSERT INTO \"ext my \"\"table\"\"\" (api_ptr_id, value) VALUES (10, x'00ff'), (11, NULL);"
      "CREATE INDEX my_index ON \"ext my \"\"table\"\"\" (value);"
      "CREATE VIEW my_view AS SELECT a.id, e.value FROM rocpd_api a JOIN \"ext my \"\"table\"\"\" "
      "e "
      "ON e.api_ptr_id = a.id;"
      "CREATE VIEW broken_view AS SELECT completionSignal FROM rocpd_op;"
      "CREATE TRIGGER my_trigger AFTER INSERT ON rocpd_op BEGIN DELETE FROM rocpd_api; END;"
      "INSERT INTO rocpd_barrierop VALUES (1, 2, 'a', 'b');"
      "UPDATE rocpd_op SET completionSignal = '0x1' WHERE id < 3;"
      "INSERT INTO rocpd_metadata (tag, value) VALUES ('My::Tag', 'x'), ('session_count', '4');");
  const UpgradeReport report = value_of(upgrade(input, output_));
  Reader upgraded = open_reader(output_);
  EXPECT_EQ(rows(upgraded, "SELECT id, hex(value) FROM my_view ORDER BY id"),
            (Lines{"10|00FF", "11|"}));
  EXPECT_EQ(rows(upgraded, "SELECT twice FROM \"ext my \"\"table\"\"\" ORDER BY 1"),
            (Lines{"20", "22"}));
  EXPECT_EQ(rows(upgraded, "SELECT * FROM rocpd_barrierop"), Lines{"1|2|a|b"});
  EXPECT_EQ(number(upgraded, "SELECT count(*) FROM rocpd_api"), 8);
  EXPECT_EQ(rows(upgraded,
                 "SELECT name FROM sqlite_master WHERE type = 'trigger' OR name IN "
                 "('broken_view', 'ktop', 'rocpd_op_inputSignals')"),
            Lines{});
  EXPECT_EQ(rows(upgraded,
                 "SELECT tag, value FROM rocpd_metadata WHERE tag IN ('My::Tag', "
                 "'session_count', 'schema_version') ORDER BY tag"),
            (Lines{"My::Tag|x", "schema_version|3", "session_count|4"}));
  EXPECT_TRUE(has_note(report, "broken_view does not fit v3"));
  EXPECT_TRUE(has_note(report, "2 values of rocpd_op.completionSignal"));
}

// What v3's constraints refuse is left out and said.
TEST_F(UpgradeTest, CountsRowsThatCannotBeKept) {
  const std::string input = directory_ / "odd.rpd";
  testing::run_sql(
      input,
      "CREATE TABLE rocpd_string (id, string); INSERT INTO rocpd_string VALUES (5, 'a');"
      "CREATE TABLE rocpd_api (id, pid, tid, start, \"end\", apiName_id, args_id);"
      "CREATE TABLE rocpd_op (id, gpuId, queueId, sequenceId, start, \"end\", "
      "description_id, opType_id);"
      "INSERT INTO rocpd_api VALUES (1, 1, 1, 1, 2, 5, 5), (2, NULL, 1, 1, 2, 5, 5);");
  const UpgradeReport report = value_of(upgrade(input, output_));
  EXPECT_TRUE(has_note(report, "1 of 2 rows of rocpd_api could not be kept"));
  Reader upgraded = open_reader(output_);
  EXPECT_EQ(rows(upgraded, "SELECT id, apiName, args, domain FROM api"), Lines{"1|a|a|"});
}

// Definitions in the file may define, and nothing else.
TEST_F(UpgradeTest, DefinitionsOfTheFileRunNothing) {
  const std::string input = testing::make_example(directory_, Flavour::kV3);
  const std::string victim = directory_ / "victim.rpd";
  testing::run_sql(input,
                   "CREATE TABLE ext_a (a); INSERT INTO ext_a VALUES (1);"
                   "CREATE TABLE ext_b (a); INSERT INTO ext_b VALUES (1);"
                   "PRAGMA writable_schema=ON;"
                   "UPDATE sqlite_master SET sql = 'CREATE TABLE ext_a (a); ATTACH ''" +
                       victim +
                       "'' AS x' WHERE name = 'ext_a';"
                       "UPDATE sqlite_master SET sql = 'CREATE TABLE ext_b AS SELECT "
                       "1 AS a' WHERE name = 'ext_b';");
  const auto report = upgrade(input, output_);
  EXPECT_FALSE(std::filesystem::exists(victim));
  if (report) {
    Reader upgraded = open_reader(output_);
    EXPECT_EQ(number(upgraded, "SELECT count(*) FROM v_op"), 7);
  } else {
    EXPECT_EQ(report.error().to_line().rfind(input, 0), 0u) << report.error().to_line();
  }
}

TEST_F(UpgradeTest, RealFilesKeepTheirRows) {
  const struct {
    const char* file;
    std::vector<std::pair<std::string, int64_t>> counts;
  } cases[] = {{"matmul_result.rpd",
                {{"rocpd_string", 52},
                 {"rocpd_api", 125},
                 {"rocpd_op", 85},
                 {"rocpd_api_ops", 85},
                 {"rocpd_kernelapi", 29},
                 {"rocpd_copyapi", 55},
                 {"rocpd_monitor", 15},
                 {"api", 125},
                 {"copyop", 55},
                 {"kernel", 29}}},
               {"mytrace.rpd.gz",
                {{"rocpd_string", 129},
                 {"rocpd_api", 14736},
                 {"rocpd_op", 10124},
                 {"rocpd_api_ops", 10124},
                 {"rocpd_kernelapi", 1228},
                 {"rocpd_copyapi", 536},
                 {"rocpd_monitor", 81},
                 {"ext_callstack", 86387},
                 {"ext_autogradapi", 11816},
                 {"autogradKernel", 28},
                 {"api", 14736},
                 {"sonde_kernel", 8948}}}};
  for (const auto& expected : cases) {
    const std::string path = test::real_file(std::string("rpd/") + expected.file);
    if (path.empty()) GTEST_SKIP() << expected.file << " is not on this machine";
    const std::string output = directory_ / (std::string(expected.file) + ".v3.rpd");
    const UpgradeReport report = value_of(upgrade(path, output));
    for (const auto& table : report.tables)
      EXPECT_EQ(table.rows_before, table.rows_after) << table.name;
    Reader upgraded = open_reader(output);
    for (const auto& [name, count] : expected.counts) {
      EXPECT_EQ(number(upgraded, "SELECT count(*) FROM " + name), count) << name;
    }
  }
  Reader upgraded = open_reader(directory_ / "matmul_result.rpd.v3.rpd");
  EXPECT_EQ(rows(upgraded,
                 "SELECT Name, TotalCalls, TotalDuration_us, "
                 "round(Percentage, 6) FROM main.top LIMIT 1"),
            Lines{"CopyHostToDevice|2|157178|85.46092"});
  EXPECT_EQ(rows(upgraded, "SELECT round(Busy, 6) FROM main.busy"), Lines{"0.062049"});
}

}  // namespace
}  // namespace sonde::store
