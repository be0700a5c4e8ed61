// results.db of rocprof v1 (docs/formats.md): a table for each kind of record, its columns found by
// name.
#include <unordered_map>

#include "importers/importer.h"
#include "importers/rocprof/rows.h"
#include "store/database.h"
#include "store/each_row.h"
#include "store/input_file.h"

namespace sonde::importers {

namespace {

using store::Database;

Sure sniff(const Head& head) {
  if (!store::is_sqlite(head.bytes)) return Sure::kNo;
  const bool is_ours = head.has("BeginNs") && (head.has("__section") || head.has("KernelName"));
  return is_ours ? Sure::kCertain : Sure::kNo;
}

struct Call {
  int64_t id, start_ns;
  bool launches, copies;
};

class Reader {
 public:
  Reader(Database& database, Sink& sink, Tally& tally)
      : database_(database), sink_(sink), rows_(sink, tally) {}

  Status read() {
    SONDE_TRY(table("KERN", [&](std::string_view place) { rows_.kernel(record_, place); }));
    SONDE_TRY(table("rocTX", [&](std::string_view place) { rows_.marker(record_, place); }));
    SONDE_TRY(table("HSA", [&](std::string_view place) { rows_.call(record_, "hsa", place); }));
    SONDE_TRY(table("HIP", [&](std::string_view place) { call(place); }));
    SONDE_TRY(table("COPY", [&](std::string_view place) { operation(place); }));
    SONDE_TRY(table("OPS", [&](std::string_view place) { operation(place); }));
    rows_.finish();
    return sink_.status();
  }

 private:
  template <typename OnRow>
  Status table(const char* name, OnRow&& on_row) {
    SONDE_ASSIGN(const bool exists, database_.has_table(name));
    if (!exists) return ok_status();
    const std::string place = database_.path() + ":" + name;
    SONDE_TRY(store::each_row(
        database_, std::string("SELECT * FROM ") + name, [&](const store::Statement& rows) {
          record_.clear();
          for (int i = 0; i < rows.column_count(); ++i) {
            record_.add(rows.column_name(i), rows.is_null(i) ? std::string_view() : rows.text(i));
          }
          on_row(place);
        }));
    return sink_.status();
  }

  // What launches and what was launched have the same index. It is believed where the call is one
  // that can launch such an operation, and began before it.
  void call(std::string_view place) {
    const int64_t id = rows_.call(record_, "hip", place);
    const auto index = record_.integer("Index");
    if (id == 0 || !index) return;
    const std::string_view name = record_.text("Name");
    const auto says = [&](std::string_view word) { return name.find(word) != name.npos; };
    calls_[*index] = {id, record_.integer_or("BeginNs", 0), says("Launch"),
                      says("Memcpy") || says("Memset")};
  }

  void operation(std::string_view place) {
    const int64_t id = rows_.operation(record_, place);
    const auto index = record_.integer("Index");
    if (id == 0 || !index) return;
    const auto call = calls_.find(*index);
    if (call == calls_.end()) return;
    const bool moves = store::moves_memory(store::class_of_type(record_.text("Name")));
    if (!(moves ? call->second.copies : call->second.launches)) return;
    if (call->second.start_ns <= record_.integer_or("BeginNs", 0)) {
      rows_.launched(id, call->second.id);
    }
  }

  Database& database_;
  Sink& sink_;
  RocprofRows rows_;
  RocprofRecord record_;
  std::unordered_map<int64_t, Call> calls_;  // by index
};

Status read(Source& source, Sink& sink, Tally& tally) {
  SONDE_ASSIGN(Database database, store::open_input(source.path()));
  return Reader(database, sink, tally).read();
}

}  // namespace

Importer rocprof_db_importer() { return {"rocprof-db", "results.db of rocprof v1", sniff, read}; }

}  // namespace sonde::importers
