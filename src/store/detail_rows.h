// DetailRows: the rows of sonde_op_detail on their way into the file. Nearly all follow the one
// before and are appended; one that comes again, or after a gap, takes the slower way. Used by
// Writer.
#pragma once

#include <string>

#include "store/row_buffer.h"
#include "store/writer.h"

namespace sonde::store {

class DetailRows {
 public:
  Status prepare(Database& database) {
    const std::string columns =
        "process_id, api_id, queued_ns, submitted_ns, bytes, grid_x, grid_y, grid_z, group_x, "
        "group_y, group_z, group_segment_bytes, private_segment_bytes, status";
    SONDE_TRY(appended_.prepare(database, "sonde_op_detail", columns));
    return others_.prepare(database,
                           "INSERT OR REPLACE INTO sonde_op_detail (op_id, " + columns + ")");
  }

  Status go_on(Database& database) { return appended_.go_on(database); }

  void add(const OpDetailRow& row) {
    const auto add_to = [&row](auto& rows, auto... op_id) {
      rows.add(op_id..., Nullable{row.process_id}, Nullable{row.api_id}, Nullable{row.queued_ns},
               Nullable{row.submitted_ns}, Nullable{row.bytes}, Nullable{row.grid[0]},
               Nullable{row.grid[1]}, Nullable{row.grid[2]}, Nullable{row.group[0]},
               Nullable{row.group[1]}, Nullable{row.group[2]}, Nullable{row.group_segment_bytes},
               Nullable{row.private_segment_bytes}, row.status);
    };
    if (row.op_id == appended_.next_id()) return add_to(appended_);
    add_to(others_, row.op_id);
    if (row.op_id > appended_.next_id()) after_gap_ = row.op_id;
  }

  // Makes room where there is none.
  Status make_room() {
    if (others_.full() || after_gap_ != 0) return flush();
    return appended_.full() ? appended_.flush() : ok_status();
  }

  // What others_ replace may still be in appended_; the reverse cannot be.
  Status flush() {
    SONDE_TRY(appended_.flush());
    SONDE_TRY(others_.flush());
    if (after_gap_ != 0) appended_.set_next_id(after_gap_ + 1);
    after_gap_ = 0;
    return ok_status();
  }

 private:
  NumberedRows<14> appended_;
  RowBuffer<15> others_;
  int64_t after_gap_ = 0;  // op_id of a row in others_ that is the last of all; 0: none
};

}  // namespace sonde::store
