// Reader: opens any .rpd flavour (v1, v2a, v2b, v2c, v3, or gzip of one) read-only and shows all of
// them in one shape, as TEMP views over the file:
//
//   v_string(id, string)                 rocpd_string
//   v_ustring(id, string)                rocpd_ustring, or rocpd_string before v3
//   v_api(id, pid, tid, start_ns, end_ns, name_id, domain_id, category_id, args_id)
//                                        domain_id and category_id are NULL before v3
//   v_op(id, gpu_id, queue_id, sequence_id, start_ns, end_ns, name_id, type_id)
//                                        name_id is the id of '' for ops without a kernel name
//   v_api_op(api_id, op_id)
//   v_op_detail(op_id, process_id, api_id, queued_ns, submitted_ns, bytes, grid_x, grid_y, grid_z,
//               group_x, group_y, group_z, group_segment_bytes, private_segment_bytes, status)
//                                        from sonde_op_detail; in files of other tools from
//                                        rocpd_kernelapi and rocpd_copyapi (NULL where unknown)
//   v_copy(api_id, stream, size_bytes, width, height, kind, dst, src, dst_device, src_device, sync,
//          pinned)                       size_bytes is NULL where the file has text in it
//   v_monitor(id, device_type, device_id, monitor_type, start_ns, end_ns, value)
//   v_process(id, pid, ppid, start_ns, end_ns, command, rank, exit)    one row per pid of v_api
//                                        where the file has no sonde_process
//   v_thread(process_id, pid, tid, name)
//   v_device(gpu_id, process_id, backend, name, vendor, kind, memory_bytes, compute_units)
//   v_op_args(op_id, args)     arguments of operations, in imported files
//   v_flow(id, flow, category_id, name_id, phase, process_id, tid, time_ns)
//   v_counter(process_id, pid, tid, time_ns, name, value)   user counters
//
// and the corrected sonde_* views of the schema (schema.h), which a file of Sonde's also holds
// itself. Rows whose string ids point nowhere are kept (LEFT JOIN). The input file is never
// written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

enum class Flavour { kV1, kV2a, kV2b, kV2c, kV3 };
const char* flavour_name(Flavour flavour);  // "v2a"

class Reader {
 public:
  // A gzip file is unpacked to an unlinked temporary file first. So is a file that a killed writer
  // left with a rollback journal: what was committed last is shown. While a writer is at work, each
  // query sees its last commit.
  static Result<Reader> open(const std::string& path);

  Database& database() { return database_; }
  Flavour flavour() const { return flavour_; }
  bool made_by_sonde() const { return made_by_sonde_; }
  const std::string& path() const { return database_.path(); }  // as the user gave it
  // Tables that are not read, each with the reason: "rocpd_copyop has no column src".
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  explicit Reader(Database database) : database_(std::move(database)) {}
  Status probe();

  Database database_;
  Flavour flavour_ = Flavour::kV3;
  bool made_by_sonde_ = false;
  std::vector<std::string> notes_;
};

}  // namespace sonde::store
