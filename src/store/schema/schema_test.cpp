// What RPD's tools rely on, listed by hand: tables, columns, types, keys, views, seeds, indices.
#include "store/schema/schema.h"

#include "store/fixtures_test_support.h"
#include "store/writer.h"

namespace sonde::store {
namespace {

using namespace testing;

constexpr const char* kTables[][2] = {
    {"rocpd_metadata", "id integer NN PK, tag varchar(4096) NN, value varchar(4096) NN"},
    {"rocpd_string", "id integer NN PK, string varchar(4096) NN"},
    {"rocpd_ustring", "id integer NN PK, string varchar(4096) NN"},
    {"rocpd_api",
     "id integer NN PK, pid integer NN, tid integer NN, start integer NN, end integer NN, "
     "apiName_id bigint NN, category_id bigint NN, domain_id bigint NN, args_id bigint NN"},
    {"rocpd_copyapi",
     "api_ptr_id bigint NN PK, stream varchar(18) NN, size integer NN, width integer NN, height "
     "integer NN, kind integer NN, dst varchar(18) NN, src varchar(18) NN, dstDevice integer NN, "
     "srcDevice integer NN, sync bool NN, pinned bool NN"},
    {"rocpd_kernelapi",
     "api_ptr_id bigint NN PK, stream varchar(18) NN, gridX integer NN, gridY integer NN, gridZ "
     "integer NN, workgroupX integer NN, workgroupY integer NN, workgroupZ integer NN, "
     "groupSegmentSize integer NN, privateSegmentSize integer NN, kernelName_id bigint NN"},
    {"rocpd_op",
     "id integer NN PK, gpuId integer NN, queueId integer NN, sequenceId integer NN, start integer "
     "NN, end integer NN, description_id bigint NN, opType_id bigint NN"},
    {"rocpd_api_ops", "id integer NN PK, api_id bigint NN, op_id bigint NN"},
    {"rocpd_monitor",
     "id integer NN PK, deviceType varchar(16) NN, deviceId integer NN, monitorType varchar(16) "
     "NN, "
     "start integer NN, end integer NN, value varchar(255) NN"},
    {"rocpd_counter", "id integer NN PK, value real NN, op_id bigint NN, name_id bigint NN"},
    {"rocpd_stackframe",
     "id integer NN PK, api_ptr_id bigint NN, depth integer NN, name_id bigint NN"},
};

constexpr const char* kViews[][2] = {
    {"api", "id,pid,tid,start,end,domain,category,apiName,args"},
    {"op", "id,gpuId,queueId,sequenceId,start,end,description,opType"},
    {"busy", "gpuId,GpuTime,WallTime,Busy"},
    {"top", "Name,TotalCalls,TotalDuration_us,Ave_us,Percentage"},
    {"kernel",
     "id,gpuId,queueId,sequenceId,start,end,duration,stream,gridX,gridY,gridz,workgroupX,"
     "workgroupY,"
     "workgroupZ,groupSegmentSize,privateSegmentSize,kernelName"},
    {"copy",
     "id,pid,tid,start,end,apiName,stream,size,width,height,kind,dst,src,dstDevice,srcDevice,sync,"
     "pinned"},
    {"copyop",
     "id,gpuId,queueId,sequenceId,start,end,duration,stream,size,width,height,kind,dst,src,"
     "dstDevice,"
     "srcDevice,sync,pinned,apiName"},
    {"stackframe", "id,string,depth,string:1"},
    {"napi", "id,node,pid,tid,start,end,domain,category,apiName,args"},
    {"nop", "id,node,gpuId,queueId,sequenceId,start,end,description,opType"},
};

constexpr const char* kForeignKeys[] = {"rocpd_api|apiName_id|rocpd_string|id",
                                        "rocpd_api|args_id|rocpd_ustring|id",
                                        "rocpd_api|category_id|rocpd_string|id",
                                        "rocpd_api|domain_id|rocpd_string|id",
                                        "rocpd_api_ops|api_id|rocpd_api|id",
                                        "rocpd_api_ops|op_id|rocpd_op|id",
                                        "rocpd_copyapi|api_ptr_id|rocpd_api|id",
                                        "rocpd_counter|name_id|rocpd_string|id",
                                        "rocpd_counter|op_id|rocpd_op|id",
                                        "rocpd_kernelapi|api_ptr_id|rocpd_api|id",
                                        "rocpd_kernelapi|kernelName_id|rocpd_string|id",
                                        "rocpd_op|description_id|rocpd_string|id",
                                        "rocpd_op|opType_id|rocpd_string|id",
                                        "rocpd_stackframe|api_ptr_id|rocpd_api|id",
                                        "rocpd_stackframe|name_id|rocpd_string|id"};

// SQLite shows the types it knows in upper case, whatever the file says.
class SchemaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = directory_ / "trace.rpd";
    auto writer = value_of(Writer::open(path, Writer::Mode::kCreate));
    ASSERT_TRUE(writer.finish().ok());
    database_ =
        std::make_unique<Database>(value_of(Database::open(path, Database::Mode::kReadOnly)));
  }

  std::string joined(const std::string& sql, const char* separator) {
    std::string out;
    for (const auto& row : rows(*database_, sql)) out += (out.empty() ? "" : separator) + row;
    return out;
  }

  testing::TemporaryDirectory directory_;
  std::unique_ptr<Database> database_;
};

TEST_F(SchemaTest, TablesAreRpdV3) {
  std::string names;
  for (const auto& [name, columns] : kTables) {
    names += (names.empty() ? "" : ",") + std::string(name);
    EXPECT_EQ(
        joined(std::string("SELECT name || ' ' || lower(type) || iif(\"notnull\", ' NN', '') || "
                           "iif(pk, ' PK', '') FROM pragma_table_info('") +
                   name + "')",
               ", "),
        columns)
        << name;
  }
  EXPECT_EQ(joined("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'rocpd_*' "
                   "ORDER BY rowid",
                   ","),
            names);
}

TEST_F(SchemaTest, IdsAreAutoincrement) {
  EXPECT_EQ(number(*database_,
                   "SELECT count(*) FROM sqlite_master WHERE name GLOB 'rocpd_*' AND "
                   "sql LIKE '%AUTOINCREMENT%'"),
            9);
}

TEST_F(SchemaTest, ReferencesAreDeferred) {
  const auto found = rows(*database_,
                          "SELECT m.name, f.\"from\", f.\"table\", f.\"to\" FROM sqlite_master m, "
                          "pragma_foreign_key_list(m.name) f WHERE m.name GLOB 'rocpd_*' AND "
                          "m.type = 'table' ORDER BY 1, 2");
  EXPECT_EQ(found, std::vector<std::string>(std::begin(kForeignKeys), std::end(kForeignKeys)));
  EXPECT_EQ(number(*database_,
                   "SELECT sum((length(sql) - length(replace(sql, 'DEFERRABLE INITIALLY DEFERRED', "
                   "''))) / length('DEFERRABLE INITIALLY DEFERRED')) FROM sqlite_master "
                   "WHERE name GLOB 'rocpd_*'"),
            static_cast<int64_t>(std::size(kForeignKeys)));
}

TEST_F(SchemaTest, ViewsAreRpdV3) {
  for (const auto& [name, columns] : kViews) {
    EXPECT_EQ(joined(std::string("SELECT name FROM pragma_table_info('") + name + "')", ","),
              columns)
        << name;
    rows(*database_, std::string("SELECT * FROM ") + name);
  }
}

TEST_F(SchemaTest, SeedsAreRpdV3) {
  EXPECT_EQ(
      rows(*database_,
           "SELECT tag, value FROM rocpd_metadata WHERE tag IN ('schema_version', "
           "'gpu_stride', 'pid_stride', 'session_count') ORDER BY tag"),
      (Lines{"gpu_stride|1000", "pid_stride|10000000", "schema_version|3", "session_count|1"}));
  EXPECT_EQ(rows(*database_, "SELECT id FROM rocpd_string WHERE string = ''"), Lines{"1"});
  EXPECT_EQ(rows(*database_, "SELECT id FROM rocpd_ustring WHERE string = ''"), Lines{"1"});
}

TEST_F(SchemaTest, DefaultIndicesExistAfterFinish) {
  EXPECT_EQ(rows(*database_,
                 "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' AND "
                 "name GLOB 'rocpd_*' ORDER BY name"),
            (Lines{"rocpd_strin_string_c7b9cd_idx|rocpd_string",
                   "rocpd_ustri_string_84d4a7_idx|rocpd_ustring"}));
}

// RPD's own views must give RPD's own figures, its collapsing of equal ops included.
TEST(RpdViews, GiveRpdFigures) {
  testing::TemporaryDirectory directory;
  const std::string path = directory / "trace.rpd";
  testing::run_sql(path, std::string(rpd_v3_schema()) + testing::example_rows(Flavour::kV3));
  auto database = value_of(Database::open(path, Database::Mode::kReadOnly));
  // 550 ns in all. gemm 100 + 100; axpy 100 (twice, shown once) + 50.
  EXPECT_EQ(rows(database,
                 "SELECT Name, TotalCalls, TotalDuration_us, Ave_us, "
                 "round(Percentage, 3) FROM top ORDER BY Name"),
            (Lines{"CopyDeviceToHost|1|0|0.0|0.0", "CopyHostToDevice|1|0|0.1|18.182",
                   "axpy|2|0|0.075|27.273", "gemm|2|0|0.1|36.364"}));
  EXPECT_EQ(rows(database, "SELECT gpuId, GpuTime, WallTime, round(Busy, 4) FROM busy ORDER BY 1"),
            (Lines{"2|300|1150|0.2609", "3|250|1150|0.2174"}));
  EXPECT_EQ(number(database, "SELECT count(*) FROM api"), 7);  // one name is missing
  EXPECT_EQ(rows(database, "SELECT id, kernelName FROM kernel ORDER BY id"),
            (Lines{"1|gemm", "6|gemm"}));  // 6 is axpy: RPD keys by call
  EXPECT_EQ(rows(database, "SELECT id, apiName, size FROM copy ORDER BY id"),
            (Lines{"12|hipMemcpyAsync|21474836480", "13|hipMemcpyAsync|"}));
  EXPECT_EQ(rows(database, "SELECT id, duration, apiName FROM copyop ORDER BY id"),
            (Lines{"3|100|hipMemcpyAsync", "7|0|hipMemcpyAsync"}));
  EXPECT_EQ(rows(database, "SELECT * FROM stackframe"), Lines{"10|hipLaunchKernel|0|gemm"});
  EXPECT_EQ(rows(database, "SELECT node, pid, tid FROM napi WHERE id = 10"), Lines{"0|4711|4712"});
  EXPECT_EQ(rows(database, "SELECT node, gpuId, queueId FROM nop WHERE id = 2"), Lines{"0|2|1"});
}

TEST(RpdViews, NodesComeFromTheStrides) {
  testing::TemporaryDirectory directory;
  const std::string path = directory / "trace.rpd";
  testing::run_sql(path,
                   std::string(rpd_v3_schema()) +
                       "INSERT INTO rocpd_string VALUES (1, '');"
                       "INSERT INTO rocpd_ustring VALUES (1, '');"
                       "INSERT INTO rocpd_api VALUES (1, 20004711, 20004712, 0, 1, 1, 1, 1, 1);"
                       "INSERT INTO rocpd_op VALUES (1, 2003, 2001, 0, 0, 1, 1, 1);");
  auto database = value_of(Database::open(path, Database::Mode::kReadOnly));
  EXPECT_EQ(rows(database, "SELECT node, pid, tid FROM napi"), Lines{"2|4711|4712"});
  EXPECT_EQ(rows(database, "SELECT node, gpuId, queueId FROM nop"), Lines{"2|3|1"});
}

}  // namespace
}  // namespace sonde::store
