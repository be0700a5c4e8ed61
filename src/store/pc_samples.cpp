#include "store/pc_samples.h"

#include "store/bind.h"

namespace sonde::store {

// The table is in traces that have such samples only.
Status add_pc_lines(Database& database, int64_t pid, int64_t gpu, const std::string& kernel,
                    const std::vector<PcLine>& lines) {
  SONDE_TRY(database.exec(
      "CREATE TABLE IF NOT EXISTS sonde_pc_sample (pid integer NOT NULL, gpu_id integer NOT NULL, "
      "kernel text NOT NULL, pc_offset integer NOT NULL, instruction text NOT NULL, samples integer "
      "NOT NULL, lanes integer NOT NULL, file text, line integer)"));
  SONDE_ASSIGN(auto add, database.prepare(
                             "INSERT INTO sonde_pc_sample (pid, gpu_id, kernel, pc_offset, "
                             "instruction, samples, lanes, file, line) VALUES (?1, ?2, ?3, ?4, ?5, "
                             "?6, ?7, nullif(?8, ''), nullif(?9, 0))"));
  for (const PcLine& line : lines) {
    bind_all(add, pid, gpu, kernel, line.offset, line.instruction, line.samples, line.lanes,
             line.file, line.line);
    SONDE_TRY(add.run());
    add.reset();
  }
  return ok_status();
}

}  // namespace sonde::store
