// .rpd files for tests: the DDL of every flavour, written from the description of the format and on
// purpose not from schema.cpp, and one small trace to put into any of them.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "store/database.h"
#include "store/reader.h"

namespace sonde::store::testing {

using test::expect_ok;
using test::has;
using test::TemporaryDirectory;
using test::value_of;
using Lines = std::vector<std::string>;

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// With SQLite alone.
inline void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
      << (message == nullptr ? "" : message) << " in " << sql;
  sqlite3_free(message);
  sqlite3_close(handle);
}

inline Reader open_reader(const std::string& path) { return value_of(Reader::open(path)); }

// Rows as "a|b|c".
inline std::vector<std::string> rows(Database& database, const std::string& sql,
                                     const char* null = "-") {
  std::vector<std::string> out;
  Statement statement = value_of(database.prepare(sql));
  while (value_of(statement.step())) {
    std::string line;
    for (int i = 0; i < statement.column_count(); ++i) {
      if (i > 0) line += '|';
      line += statement.is_null(i) ? null : std::string(statement.text(i));
    }
    out.push_back(line);
  }
  return out;
}

inline int64_t number(Database& database, const std::string& sql) {
  return value_of(database.integer(sql, -1));
}

inline std::vector<std::string> rows(Reader& reader, const std::string& sql) {
  return rows(reader.database(), sql);
}
inline int64_t number(Reader& reader, const std::string& sql) {
  return number(reader.database(), sql);
}

namespace ddl {

constexpr const char* kId = "id integer NOT NULL PRIMARY KEY AUTOINCREMENT";

inline std::string table(const std::string& name, const std::string& columns) {
  return "CREATE TABLE " + name + " (" + columns + ");\n";
}
inline std::string with_id(const std::string& name, const std::string& columns) {
  return table(name, std::string(kId) + ", " + columns);
}

inline std::string common() {
  return with_id("rocpd_string", "string varchar(4096) NOT NULL") +
         with_id("rocpd_metadata", "tag varchar(4096) NOT NULL, value varchar(4096) NOT NULL") +
         with_id("rocpd_api_ops", "api_id integer NOT NULL, op_id integer NOT NULL");
}

inline std::string monitor() {
  return with_id("rocpd_monitor",
                 "deviceType varchar(16) NOT NULL, deviceId integer NOT NULL, monitorType "
                 "varchar(16) NOT NULL, start integer NOT NULL, end integer NOT NULL, value "
                 "varchar(255) NOT NULL");
}

// v1 and v2.
inline std::string old_events() {
  return with_id("rocpd_api",
                 "pid integer NOT NULL, tid integer NOT NULL, start integer NOT NULL, end integer "
                 "NOT NULL, apiName_id integer NOT NULL, args_id integer NOT NULL") +
         with_id("rocpd_op",
                 "gpuId integer NOT NULL, queueId integer NOT NULL, sequenceId integer NOT NULL, "
                 "completionSignal varchar(18) NOT NULL, start integer NOT NULL, end integer NOT "
                 "NULL, description_id integer NOT NULL, opType_id integer NOT NULL") +
         with_id("rocpd_kernelcodeobject",
                 "vgpr integer NOT NULL, sgpr integer NOT NULL, fbar integer NOT NULL") +
         table("rocpd_barrierop",
               "op_ptr_id integer NOT NULL PRIMARY KEY, signalCount integer NOT NULL, aquireFence "
               "varchar(8) NOT NULL, releaseFence varchar(8) NOT NULL") +
         with_id("rocpd_op_inputSignals", "from_op_id integer NOT NULL, to_op_id integer NOT NULL");
}

constexpr const char* kLaunchColumns =
    "gridX integer NOT NULL, gridY integer NOT NULL, gridZ integer NOT NULL, workgroupX integer "
    "NOT NULL, workgroupY integer NOT NULL, workgroupZ integer NOT NULL, groupSegmentSize integer "
    "NOT NULL, privateSegmentSize integer NOT NULL, ";
constexpr const char* kOldLaunchColumns =
    "kernelArgAddress varchar(18) NOT NULL, aquireFence varchar(8) NOT NULL, releaseFence "
    "varchar(8) NOT NULL, codeObject_id integer NOT NULL, ";
constexpr const char* kCopyColumns =
    "stream varchar(18) NOT NULL, size integer NOT NULL, width integer NOT NULL, height integer "
    "NOT NULL, kind integer NOT NULL, dst varchar(18) NOT NULL, src varchar(18) NOT NULL, "
    "dstDevice integer NOT NULL, srcDevice integer NOT NULL, sync bool NOT NULL, pinned bool NOT "
    "NULL";

inline std::string v1() {
  return common() + old_events() +
         table("rocpd_kernelop", std::string("op_ptr_id integer NOT NULL PRIMARY KEY, ") +
                                     kLaunchColumns + kOldLaunchColumns +
                                     "kernelName_id integer NOT NULL") +
         table(
             "rocpd_copyop",
             "op_ptr_id integer NOT NULL PRIMARY KEY, size integer NOT NULL, src integer NOT NULL, "
             "dst integer NOT NULL, sync bool NOT NULL, pinned bool NOT NULL") +
         with_id("rocpd_hsaApi",
                 "pid integer NOT NULL, tid integer NOT NULL, start integer NOT NULL, end integer "
                 "NOT NULL, apiName_id integer NOT NULL, args_id integer NOT NULL, return integer "
                 "NOT NULL") +
         "CREATE VIEW ktop AS SELECT description_id AS Name, count(*) AS TotalCalls FROM rocpd_op "
         "GROUP BY 1;\n";
}

inline std::string v2_tables() {
  return common() + old_events() + monitor() +
         table(
             "rocpd_kernelapi",
             std::string("api_ptr_id integer NOT NULL PRIMARY KEY, stream varchar(18) NOT NULL, ") +
                 kLaunchColumns + kOldLaunchColumns + "kernelName_id integer NOT NULL") +
         table("rocpd_copyapi",
               std::string("api_ptr_id integer NOT NULL PRIMARY KEY, ") + kCopyColumns) +
         "INSERT INTO rocpd_metadata (tag, value) VALUES ('schema_version', '2');\n";
}

inline std::string v2a() {
  return v2_tables() +
         "CREATE VIEW ktop AS SELECT kernelName_id AS Name, count(*) AS TotalCalls "
         "FROM rocpd_kernelapi GROUP BY 1;\n"
         "CREATE VIEW top AS SELECT 1 AS Name, 1 AS TotalCalls, 1 AS TotalDuration, 1 AS Ave;\n";
}

inline std::string v2b() {
  return v2_tables() +
         "CREATE VIEW top AS SELECT 1 AS Name, 1 AS TotalCalls, 1 AS TotalDuration_us, 1 AS "
         "Ave_us;\n";
}

inline std::string stackframe(const std::string& key_type) {
  return with_id("rocpd_stackframe", "api_ptr_id " + key_type +
                                         " NOT NULL, depth integer NOT NULL, name_id " + key_type +
                                         " NOT NULL");
}

inline std::string v2c() { return v2b() + stackframe("integer"); }

inline std::string v3() {
  return common() + monitor() + stackframe("bigint") +
         with_id("rocpd_ustring", "string varchar(4096) NOT NULL") +
         with_id(
             "rocpd_api",
             "pid integer NOT NULL, tid integer NOT NULL, start integer NOT NULL, end integer "
             "NOT NULL, apiName_id bigint NOT NULL, category_id bigint NOT NULL, domain_id bigint "
             "NOT NULL, args_id bigint NOT NULL") +
         with_id("rocpd_op",
                 "gpuId integer NOT NULL, queueId integer NOT NULL, sequenceId integer NOT NULL, "
                 "start integer NOT NULL, end integer NOT NULL, description_id bigint NOT NULL, "
                 "opType_id bigint NOT NULL") +
         with_id("rocpd_counter",
                 "value real NOT NULL, op_id bigint NOT NULL, name_id bigint NOT NULL") +
         table(
             "rocpd_kernelapi",
             std::string("api_ptr_id bigint NOT NULL PRIMARY KEY, stream varchar(18) NOT NULL, ") +
                 kLaunchColumns + "kernelName_id bigint NOT NULL") +
         table("rocpd_copyapi",
               std::string("api_ptr_id bigint NOT NULL PRIMARY KEY, ") + kCopyColumns) +
         "INSERT INTO rocpd_metadata (tag, value) VALUES ('schema_version', '3'), "
         "('gpu_stride', '1000'), ('pid_stride', '10000000'), ('session_count', '1');\n";
}

}  // namespace ddl

inline std::string ddl_of(Flavour flavour) {
  switch (flavour) {
    case Flavour::kV1:
      return ddl::v1();
    case Flavour::kV2a:
      return ddl::v2a();
    case Flavour::kV2b:
      return ddl::v2b();
    case Flavour::kV2c:
      return ddl::v2c();
    case Flavour::kV3:
      return ddl::v3();
  }
  return "";
}

constexpr Flavour kAllFlavours[] = {Flavour::kV1, Flavour::kV2a, Flavour::kV2b, Flavour::kV2c,
                                    Flavour::kV3};

// Two devices. Device 2: gemm [100, 200) and [150, 250) on two queues, a copy of 20 GiB [300, 400).
// Device 3: axpy [1000, 1100) twice, and once more [1200, 1250) as a Task of a graph launch. The
// copy of call 13 has no known size; call 14 names a string that does not exist.
inline std::string example_rows(Flavour flavour) {
  std::string sql =
      "INSERT INTO rocpd_string (id, string) VALUES (1, ''), (2, 'hipLaunchKernel'), "
      "(3, 'hipMemcpyAsync'), (4, 'hipGraphLaunch'), (5, 'KernelExecution'), "
      "(6, 'CopyHostToDevice'), (7, 'Task'), (8, 'gemm'), (9, 'axpy'), (10, 'n=4096'), "
      "(11, 'hip'), (12, 'api'), (13, 'CopyDeviceToHost');\n"
      "INSERT INTO rocpd_api_ops (id, api_id, op_id) VALUES (1, 10, 1), (2, 11, 2), (3, 12, 3), "
      "(4, 15, 4), (5, 16, 5), (6, 17, 6), (7, 13, 7);\n";
  const bool v3 = flavour == Flavour::kV3;
  const struct {
    int id, name, args;
  } apis[] = {{10, 2, 10}, {11, 2, 1}, {12, 3, 1}, {13, 3, 1},
              {14, 99, 1}, {15, 2, 1}, {16, 2, 1}, {17, 4, 1}};
  for (const auto& api : apis) {
    sql += "INSERT INTO rocpd_api VALUES (" + std::to_string(api.id) + ", 4711, 4712, " +
           std::to_string(api.id * 5) + ", " + std::to_string(api.id * 5 + 3) + ", " +
           std::to_string(api.name) + ", " + (v3 ? "12, 11, " : "") + std::to_string(api.args) +
           ");\n";
  }
  if (v3) sql += "INSERT INTO rocpd_ustring VALUES (1, ''), (10, 'n=4096');\n";
  const char* ops[] = {"1, 2, 0, 0, 100, 200, 8, 5",   "2, 2, 1, 0, 150, 250, 8, 5",
                       "3, 2, 0, 0, 300, 400, 1, 6",   "4, 3, 0, 0, 1000, 1100, 9, 5",
                       "5, 3, 1, 0, 1000, 1100, 9, 5", "6, 3, 0, 0, 1200, 1250, 9, 7",
                       "7, 3, 0, 0, 1100, 1100, 1, 13"};
  for (const char* op : ops) {
    sql += std::string(
               "INSERT INTO rocpd_op (id, gpuId, queueId, sequenceId, start, end, "
               "description_id, opType_id") +
           (v3 ? ") VALUES (" : ", completionSignal) VALUES (") + op + (v3 ? ");\n" : ", '');\n");
  }
  if (flavour == Flavour::kV1) {
    return sql +
           "INSERT INTO rocpd_kernelop VALUES (1, 64, 32, 1, 8, 4, 1, 512, 16, '', '', '', 0, 8), "
           "(6, 1024, 1, 1, 256, 1, 1, 0, 0, '', '', '', 0, 9);\n"
           "INSERT INTO rocpd_copyop VALUES (3, 21474836480, -1, -1, 1, 0), (7, '', 0, 0, 0, 0);\n"
           "INSERT INTO rocpd_hsaApi VALUES (1, 4711, 4712, 1, 2, 2, 1, 0);\n";
  }
  const std::string old = v3 ? "" : "'', '', '', 0, ";
  sql +=
      "INSERT INTO rocpd_kernelapi VALUES (10, '0x0', 64, 32, 1, 8, 4, 1, 512, 16, " + old +
      "8), (17, '0x0', 7, 7, 7, 1, 1, 1, 0, 0, " + old + "8);\n" +
      "INSERT INTO rocpd_copyapi VALUES (12, '0x1', 21474836480, '', '', 1, '0xd', '0x5', 2, -1, "
      "1, 0), (13, '0x0', '', '', '', 2, '0xd', '0x5', 0, 0, 0, 1);\n"
      "INSERT INTO rocpd_monitor VALUES (1, 'gpu', 2, 'sclk', 0, 50, '1700');\n";
  if (flavour == Flavour::kV2c || v3) {
    sql += "INSERT INTO rocpd_stackframe VALUES (1, 10, 0, 8);\n";
  }
  if (v3) sql += "INSERT INTO rocpd_counter VALUES (1, 2.5, 1, 8);\n";
  return sql;
}

inline std::string make_example(const TemporaryDirectory& directory, Flavour flavour) {
  std::string path = directory / (std::string(flavour_name(flavour)) + ".rpd");
  run_sql(path, "BEGIN;" + ddl_of(flavour) + example_rows(flavour) + "COMMIT;");
  return path;
}

}  // namespace sonde::store::testing
