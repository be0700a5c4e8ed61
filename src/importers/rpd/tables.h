// RpdTables: carries tables of an .rpd into a sink as they are, row by row, with the ids that they
// hold put right: processes, calls, operations and names by what the sink gave out for them, and
// the ids of the tables themselves by counting on from those that the sink has already. Used by
// rpd_input, after the rows that others refer to.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "importers/sink/sink.h"
#include "importers/sink/tally.h"
#include "store/database.h"

namespace sonde::importers {

class RpdTables {
 public:
  // New ids by the file's; 0 = there is no such row. By the name of the table.
  using NewId = std::function<int64_t(int64_t)>;

  RpdTables(store::Database& database, Sink& sink, Tally& tally, std::map<std::string, NewId> ids)
      : database_(database), sink_(sink), tally_(tally), ids_(std::move(ids)) {}

  // False if the sink does not know the table.
  Result<bool> carry(const std::string& name);

 private:
  int64_t first_id(const std::string& table);
  int64_t new_id(const std::string& table, int64_t id);

  store::Database& database_;
  Sink& sink_;
  Tally& tally_;
  std::map<std::string, NewId> ids_;
  std::map<std::string, int64_t> first_ids_;  // what the sink had before this file
};

}  // namespace sonde::importers
