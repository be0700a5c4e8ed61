// link: sonde_store fmt::fmt
// How fast rows reach an .rpd: the Writer beside a bare multi-row INSERT loop of the same columns.
//   store_bench [ROWS] [DIRECTORY]
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "cpu_time.h"
#include "store/writer.h"

namespace {

using sonde::store::Writer;

void report(const char* name, int64_t rows, double cpu_s, const char* more = "") {
  fmt::print(
      "{{\"name\": \"{}\", \"value\": {:.3f}, \"unit\": \"M rows/s CPU\", \"better\": "
      "\"higher\"{}}}\n",
      name, static_cast<double>(rows) / cpu_s / 1e6, more);
}

constexpr const char* kGoal = ", \"goal\": 1, \"versus\": \"bare multi-row insert\"";

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "store_bench: {}\n", message);
  std::exit(1);
}

void require(const sonde::Status& status) {
  if (!status) fail(status.error().to_line());
}

// A call that launches a kernel, and the kernel: two rows with their strings, the link, the detail
// and the launch. One of sixteen calls has arguments of its own, as a program with few distinct
// calls has.
void run_writer(const std::string& path, int64_t rows, bool details, bool all_arguments) {
  auto opened = Writer::open(path, Writer::Mode::kCreate);
  if (!opened) fail(opened.error().to_line());
  Writer writer = std::move(opened).value();
  const double before = cpu_seconds();
  std::string arguments = "queue=0x55d0c0ffee00 kernel=0x55d0deadbeef global=[1024,1024,1] n=";
  const size_t stem = arguments.size();
  char kernel[32] = "kernel_00";
  for (int64_t i = 0; i < rows / 2; ++i) {
    kernel[7] = static_cast<char>('0' + i % 7);
    int64_t args_id = 0;
    if (all_arguments || i % 16 == 0) {
      arguments.resize(stem);
      arguments += std::to_string(i);
      args_id = writer.ustring(arguments);
    }
    const int64_t api = writer.api({4711, 4711 + i % 4, i * 1000, i * 1000 + 700,
                                    writer.string("clEnqueueNDRangeKernel"), writer.string("api"),
                                    writer.string("opencl"), args_id});
    const int64_t op = writer.op({0, i % 3, 0, i * 1000 + 900, i * 1000 + 1700,
                                  writer.string(kernel), writer.string("KernelExecution")});
    if (details) {
      writer.api_op(api, op);
      sonde::store::OpDetailRow detail;
      detail.op_id = op;
      detail.process_id = 1;
      detail.api_id = api;
      detail.queued_ns = i * 1000 + 500;
      detail.submitted_ns = i * 1000 + 800;
      detail.grid[0] = detail.grid[1] = 1024;
      detail.group[0] = 256;
      writer.op_detail(detail);
      writer.kernel_api(
          {api, 0x55d0c0ffee00, {1024, 1024, 1}, {256, 1, 1}, 0, 0, writer.string(kernel)});
    }
    if (i % 250000 == 249999) require(writer.commit());
  }
  require(writer.commit());
  const char* name =
      details ? "writer, with details" : (all_arguments ? "writer, unique arguments" : "writer");
  report(name, rows, cpu_seconds() - before, kGoal);
  const double before_finish = cpu_seconds();
  require(writer.finish());
  report(fmt::format("{}: finish", name).c_str(), rows, cpu_seconds() - before_finish);
}

// To compare with, a plain loop: 9 integer columns, 64 rows a statement, one transaction.
void run_bare(const std::string& path, int64_t rows) {
  sqlite3* handle = nullptr;
  if (sqlite3_open(path.c_str(), &handle) != SQLITE_OK) fail("cannot open " + path);
  const auto exec = [&](const char* sql) {
    if (sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      fail(sqlite3_errmsg(handle));
  };
  exec(
      "PRAGMA page_size=8192; PRAGMA synchronous=OFF; PRAGMA journal_mode=TRUNCATE;"
      "CREATE TABLE t (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, a integer NOT NULL,"
      " b integer NOT NULL, c integer NOT NULL, d integer NOT NULL, e bigint NOT NULL,"
      " f bigint NOT NULL, g bigint NOT NULL, h bigint NOT NULL); BEGIN");
  std::string sql = "INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?)";
  for (int i = 1; i < 64; ++i) sql += ",(?,?,?,?,?,?,?,?,?)";
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(sql);
  const double before = cpu_seconds();
  for (int64_t i = 0; i + 64 <= rows; i += 64) {
    int index = 0;
    for (int64_t k = i; k < i + 64; ++k) {
      for (const int64_t value : {k + 1, int64_t{4711}, 4711 + k % 4, k * 1000, k * 1000 + 700,
                                  int64_t{2}, int64_t{3}, int64_t{4}, int64_t{1}}) {
        sqlite3_bind_int64(statement, ++index, value);
      }
    }
    if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_errmsg(handle));
    sqlite3_reset(statement);
  }
  exec("COMMIT");
  report("bare multi-row insert", rows / 64 * 64, cpu_seconds() - before);
  sqlite3_finalize(statement);
  sqlite3_close(handle);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 2000000;
  const std::string directory = argc > 2 ? argv[2] : ".";
  const std::string path = fmt::format("{}/store_bench.{}.rpd", directory, getpid());
  if (rows < 64) fail("give at least 64 rows");
  run_bare(path, rows);
  unlink(path.c_str());
  for (const auto& [details, all_arguments] :
       {std::pair(false, false), {false, true}, {true, false}}) {
    run_writer(path, rows, details, all_arguments);
    unlink(path.c_str());
  }
  return 0;
}
