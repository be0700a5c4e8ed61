#include "importers/input/csv_table.h"

#include <gtest/gtest.h>

#include "importers/sink/sink_test_support.h"

namespace sonde::importers {

Importer rocprof_csv_importer();
Importer rocprofv3_csv_importer();

namespace {

// All rows of a text, the fields of one joined by '|'.
std::vector<std::string> rows(std::string_view text) {
  const test::TemporaryDirectory directory;
  write_bytes(directory / "t.csv", text);
  Source source = test::value_of(Source::open(directory / "t.csv"));
  auto table = CsvTable::open(source);
  std::vector<std::string> result;
  if (!table.ok()) return result;
  while (test::value_of(table->next())) {
    std::string row;
    for (size_t i = 0; i < table->fields(); ++i) {
      if (i != 0) row += '|';
      row += table->text(i);
    }
    result.push_back(row);
  }
  return result;
}

TEST(CsvTable, QuotesCommasAndLineEnds) {
  EXPECT_EQ(rows("a,b\n1,2\n\"x,y\",\"say \"\"hi\"\"\"\r\n\n\"two\nlines\",3\n"),
            (std::vector<std::string>{"1|2", "x,y|say \"hi\"", "two\nlines|3"}));
}

TEST(CsvTable, QuotesThatAreNotDoubled) {
  EXPECT_EQ(rows("a,b\n\"operator\"\" and f\"x\"(int)\",5\n"),
            (std::vector<std::string>{"operator\" and f\"x\"(int)|5"}));
}

TEST(CsvTable, NoneIsNothing) {
  EXPECT_EQ(rows("a,b\nNone,x\n"), (std::vector<std::string>{"|x"}));
}

TEST(CsvTable, AnEmptyFileHasNoHeader) { EXPECT_TRUE(rows("").empty()); }

TEST(CsvTable, HeadersAreFoundByName) {
  EXPECT_TRUE(has_columns("\"Name\",\"Calls\"\nx", {"Calls", "Name"}));
  EXPECT_FALSE(has_columns("Name,Call\n", {"Calls"}));
}

TEST(RocprofCsv, KernelsWithCountersAndWithoutTimes) {
  const ImportedText seen = import_text(
      rocprof_csv_importer(),
      "Index,KernelName,gpu-id,queue-id,pid,tid,grd,wgr,lds,scr,vgpr,SQ_WAVES,TCC_HIT[0],BeginNs,"
      "EndNs\n0,\"f(int, int)\",1,2,100,101,4096,256,512,8,24,64.0,None,20,35\n"
      "1,g,0,0,100,101,1,1,0,0,8,1.0,2.5,None,None\n2,h,0\n3,k,0,0,1,1,1,1,0,0,8,1,1,9,5\n");
  ASSERT_TRUE(seen.status.ok());
  ASSERT_EQ(seen.sink.ops.size(), 1u);
  const auto& op = seen.sink.ops[0];
  EXPECT_EQ(op.name, "f(int, int)");
  EXPECT_EQ(op.row.gpu, 1);
  EXPECT_EQ(op.row.end_ns - op.row.start_ns, 15);
  EXPECT_EQ(op.launch.grid[0], 4096);
  EXPECT_EQ(op.launch.group_segment_bytes, 512);
  EXPECT_NE(op.args.find("vgpr = 24"), std::string::npos);
  EXPECT_EQ(seen.tally.skipped_count(), 3u);
}

TEST(Rocprofv3Csv, ATableAloneByItsColumns) {
  const ImportedText seen = import_text(
      rocprofv3_csv_importer(),
      "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\","
      "\"Start_Timestamp\",\"End_Timestamp\",\"Workgroup_Size_X\",\"Grid_Size_X\"\n"
      "\"KERNEL_DISPATCH\",\"Agent 4\",1,7,\"k\",3,100,250,64,1024\n",
      "anything.csv");
  ASSERT_TRUE(seen.status.ok());
  ASSERT_EQ(seen.sink.ops.size(), 1u);
  EXPECT_EQ(seen.sink.ops[0].row.gpu, 4);
  EXPECT_EQ(seen.sink.ops[0].launch.grid[0], 1024);
  EXPECT_EQ(seen.sink.ops[0].launch.grid[1], -1);
  EXPECT_EQ(seen.sink.ops[0].launch.api, 0);
}

}  // namespace
}  // namespace sonde::importers
