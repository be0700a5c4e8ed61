#include "store/pc_samples.h"

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
    add.bind(1, pid);
    add.bind(2, gpu);
    add.bind(3, kernel);
    add.bind(4, line.offset);
    add.bind(5, line.instruction);
    add.bind(6, line.samples);
    add.bind(7, line.lanes);
    add.bind(8, line.file);
    add.bind(9, line.line);
    SONDE_TRY(add.run());
    add.reset();
  }
  return ok_status();
}

}  // namespace sonde::store
