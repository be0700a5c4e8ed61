// StoreTables: the tables of an .rpd that is being written, as StoreSink fills them with rows of
// another .rpd. What a column holds is read from the schema: its references say whose ids are in
// it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "importers/sink/sink.h"
#include "store/database.h"

namespace sonde::importers {

class StoreTables {
 public:
  explicit StoreTables(store::Database& database) : database_(&database) {}

  // nullptr if the file has no such table.
  Result<const Table*> find(std::string_view name);
  Result<int64_t> last_id(const Table& table);
  // `shift_ns` is added to times, `first_gpu` to numbers of GPUs.
  Status insert(const Table& table, const std::vector<Cell>& cells, int64_t shift_ns,
                int64_t first_gpu);

 private:
  struct Entry {
    Table table;
    std::vector<bool> is_time, is_gpu;
    store::Statement insert;
  };
  Result<std::unique_ptr<Entry>> look_up(const std::string& name);

  store::Database* database_;
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries_;
};

}  // namespace sonde::importers
