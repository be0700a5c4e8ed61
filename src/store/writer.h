// Writer: makes an .rpd file. Rows go in as plain structs and get their ids here; they are buffered
// and inserted many at a time. One writer per file, one thread.
//
// The file is RPD schema v3 (rocpd_* tables and RPD's views, exactly) plus Sonde's own sonde_*
// tables and views (docs/formats.md). Nothing is visible to other readers until commit(); after a
// commit the file is complete and consistent even if the process is killed at once. finish() builds
// the indices. Times are CLOCK_MONOTONIC ns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

struct ApiRow {
  int64_t pid = 0, tid = 0;
  int64_t start_ns = 0, end_ns = 0;
  int64_t name_id = 0;      // string()
  int64_t category_id = 0;  // string(); 0 is written as the id of ''
  int64_t domain_id = 0;    // string(); 0 is written as the id of ''
  int64_t args_id = 0;      // ustring(); 0 is written as the id of ''
};

struct OpRow {
  int64_t gpu_id = 0, queue_id = 0, sequence_id = 0;
  int64_t start_ns = 0, end_ns = 0;
  int64_t name_id = 0;  // string(): kernel name; 0 = ''
  int64_t type_id = 0;  // string(): "KernelExecution", "CopyHostToDevice" ...
};

// sonde_op_detail: what RPD has no column for. NULL is written for a negative value.
struct OpDetailRow {
  int64_t op_id = 0;
  int64_t process_id = 0;  // sonde_process.id
  int64_t api_id = -1;     // the launching call
  int64_t queued_ns = -1, submitted_ns = -1;
  int64_t bytes = -1;               // moved or filled, 64 bits
  int64_t grid[3] = {-1, -1, -1};   // work items
  int64_t group[3] = {-1, -1, -1};  // work items per work group
  int64_t group_segment_bytes = -1, private_segment_bytes = -1;
  int64_t status = 0;  // the runtime's error code of a failed operation
};

struct KernelApiRow {
  int64_t api_id = 0;
  std::optional<uint64_t> stream;  // written as "0x...", or "" where it is not known
  int64_t grid[3] = {0, 0, 0}, group[3] = {0, 0, 0};
  int64_t group_segment_bytes = 0, private_segment_bytes = 0;
  int64_t kernel_name_id = 0;
};

struct CopyApiRow {
  int64_t api_id = 0;
  std::optional<uint64_t> stream;  // written as "0x...", or "" where it is not known
  uint64_t dst = 0, src = 0;       // written as "0x..."
  int64_t size_bytes = 0, width = 0, height = 0, kind = 0;
  int64_t dst_device = 0, src_device = 0;
  bool sync = false, pinned = false;
};

struct MonitorRow {
  std::string_view device_type, monitor_type, value;
  int64_t device_id = 0, start_ns = 0, end_ns = 0;
};

class Writer {
 public:
  // kCreate fails if the file exists; kAppend opens a v3 file made by Sonde and adds to it.
  enum class Mode { kCreate, kAppend };
  static Result<Writer> open(const std::string& path, Mode mode);
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();  // does not commit

  // Ids of rocpd_string, where equal texts share one row, and of rocpd_ustring, where each call
  // makes a row. Both never return 0. '' has id 1 in both.
  int64_t string(std::string_view text);
  int64_t ustring(std::string_view text);

  int64_t api(const ApiRow& row);  // returns rocpd_api.id; ids ascend by one
  int64_t op(const OpRow& row);    // returns rocpd_op.id
  void op_detail(const OpDetailRow& row);
  void api_op(int64_t api_id, int64_t op_id);
  void kernel_api(const KernelApiRow& row);
  void copy_api(const CopyApiRow& row);
  void monitor(const MonitorRow& row);
  void counter(int64_t op_id, int64_t name_id, double value);
  void metadata(std::string_view tag, std::string_view value);  // replaces an equal tag

  // The sonde_* tables that have few rows are written with SQL of the caller's (schema.h), inside
  // the transaction that the next commit() ends. Rows put into the other tables that way take ids
  // which are given out here; the next commit() fails then.
  Database& database();

  // For a writer that writes for long and commits often: from now on memory does not grow with the
  // file. Only what the next commit() writes is kept beside a few pages.
  Status keep_small();

  // Inserts what is buffered and commits. The first error of any earlier call comes out here and
  // stays, except for is_busy(): another program reads the file for long, nothing is lost, and a
  // later commit() can work.
  Status commit();
  // commit() and then indices, statistics, and a clean single file without journal. More rows may
  // follow; they need another finish(). RPD's index over the arguments of calls may be left out: it
  // holds every text a second time, and no query needs it.
  enum class Arguments { kIndexed, kPlain };
  Status finish(Arguments arguments = Arguments::kIndexed);

  // What the file would take if it were committed now.
  uint64_t bytes();
  uint64_t rows() const;  // rocpd_api + rocpd_op rows so far

 private:
  struct Impl;
  explicit Writer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sonde::store
