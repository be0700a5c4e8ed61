#include "timeline/index_rows.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/numbered.h"
#include "base/possible_span.h"
#include "base/strings.h"
#include "store/scan.h"
#include "timeline/chunked_scan.h"
#include "trace/columns.h"
#include "trace/name_table.h"

namespace sonde::timeline {
namespace {

constexpr double kReadShare = 0.7;  // of the progress

class RowReader {
 public:
  RowReader(store::Reader& reader, std::string folder, Progress& progress, Names known)
      : reader_(reader),
        database_(reader.database()),
        folder_(std::move(folder)),
        progress_(progress) {
    rows_.names = std::move(known);
  }

  Result<Rows> read() {
    SONDE_ASSIGN(rows_.warnings, trace::loss_warnings(reader_));
    // The extent of each table decides its share of the progress.
    SONDE_ASSIGN(const int64_t ops, rows_in("v_op"));
    SONDE_ASSIGN(const int64_t apis, rows_in("v_api"));
    const double share = kReadShare * static_cast<double>(ops) /
                         static_cast<double>(std::max<int64_t>(1, ops + apis));
    progress_.what = "reading operations";
    SONDE_TRY(read_ops(0, share));
    progress_.what = "reading calls";
    SONDE_TRY(read_apis(share, kReadShare));
    SONDE_TRY(store::scan(database_, "gpu_id, name", "v_device", {}, [&](const store::Row& row) {
      trace::describe_device(rows_.devices, row.integer(0), row.text(1), 0);
    }));
    SONDE_TRY(read_names());
    add_warnings();
    if (first_ns_ != std::numeric_limits<int64_t>::max()) rows_.origin_ns = first_ns_;
    return std::move(rows_);
  }

 private:
  Result<int64_t> rows_in(const std::string& view) {
    return database_.integer("SELECT coalesce(max(id) - min(id), 0) FROM " + view, 0);
  }

  bool take_times(const store::Row& row, int column, int64_t& start_ns, int64_t& end_ns,
                  uint64_t& bad) {
    start_ns = row.integer(column);
    end_ns = row.integer(column + 1);
    if (!is_possible_span(start_ns, end_ns)) {
      ++impossible_;
      return false;
    }
    first_ns_ = std::min(first_ns_, start_ns);
    bad += end_ns < start_ns ? 1 : 0;
    end_ns = std::max(start_ns, end_ns);
    return true;
  }

  Status read_ops(double from, double to) {
    SONDE_ASSIGN(const UniqueFd fd, unnamed_file(folder_));
    Appender out(fd.get(), folder_);
    Numbering queues(rows_.queues);
    SONDE_TRY(scan_in_chunks(database_, "id",
                             "id, start_ns, end_ns, gpu_id, queue_id, name_id, type_id", "v_op",
                             progress_, from, to, [&](const store::Row& row) {
                               OpRecord op;
                               if (!take_times(row, 1, op.start_ns, op.end_ns, bad_ops_)) return;
                               op.id = row.integer(0);
                               op.queue = queues.index({row.integer(3), row.integer(4)});
                               op.name = names_.index(row.integer(5));
                               op.type = names_.index(row.integer(6));
                               out.append(&op, sizeof op);
                             }));
    SONDE_TRY(out.finish());
    SONDE_ASSIGN(rows_.op_file, MappedFile::map(fd.get(), true, folder_));
    return ok_status();
  }

  Status read_apis(double from, double to) {
    SONDE_ASSIGN(const UniqueFd fd, unnamed_file(folder_));
    Appender out(fd.get(), folder_);
    Numbering threads(rows_.threads);
    // The name of RPD's markers; their text is an argument.
    SONDE_ASSIGN(const int64_t marker,
                 database_.integer("SELECT id FROM v_string WHERE string = 'UserMarker'", -1));
    SONDE_TRY(scan_in_chunks(database_, "id", "id, start_ns, end_ns, pid, tid, name_id, args_id",
                             "v_api", progress_, from, to, [&](const store::Row& row) {
                               ApiRecord api;
                               if (!take_times(row, 1, api.start_ns, api.end_ns, bad_apis_)) return;
                               api.id = row.integer(0);
                               api.thread = threads.index({row.integer(3), row.integer(4)});
                               api.name = names_.index(row.integer(5));
                               const int64_t args = row.integer_or(6, 0);
                               if (args != 0 && row.integer(5) == marker) {
                                 api.text = 1 + texts_.index(args);
                               }
                               out.append(&api, sizeof api);
                             }));
    SONDE_TRY(out.finish());
    SONDE_ASSIGN(rows_.api_file, MappedFile::map(fd.get(), true, folder_));
    return ok_status();
  }

  Status read_names() {
    SONDE_ASSIGN(auto texts, names_.resolve(database_));
    TextNumbering names(rows_.names);
    rows_.empty_name = names.index(texts.names[texts.empty_name]);
    for (const uint32_t name : texts.remap) rows_.name_of.push_back(names.index(texts.names[name]));
    // Otherwise the file is locked, and its pages are forgotten, for each text.
    SONDE_ASSIGN(auto transaction, store::Transaction::begin(database_));
    SONDE_ASSIGN(auto lookup, database_.prepare("SELECT string FROM v_ustring WHERE id = ?1"));
    for (const int64_t id : text_ids_) {
      lookup.bind(1, id);
      SONDE_ASSIGN(const bool found, lookup.step());
      rows_.text_of.push_back(names.index(found ? std::string(lookup.text(0)) : std::string()));
      lookup.reset();
    }
    return transaction.commit();
  }

  void add_warnings() {
    const auto add = [&](uint64_t count, const char* what) {
      if (count != 0) rows_.warnings.push_back(format_count(count) + what);
    };
    add(impossible_, " operations and calls at impossible times are left out");
    add(bad_ops_, " operations end before they start and count as zero long");
    add(bad_apis_, " API calls end before they start and count as zero long");
  }

  store::Reader& reader_;
  store::Database& database_;
  std::string folder_;
  Progress& progress_;
  Rows rows_;
  trace::NameTable names_;
  std::vector<int64_t> text_ids_;
  Numbering<int64_t, std::unordered_map<int64_t, uint32_t>> texts_{text_ids_};
  int64_t first_ns_ = std::numeric_limits<int64_t>::max();
  uint64_t impossible_ = 0, bad_ops_ = 0, bad_apis_ = 0;
};

template <typename Record, typename Before>
void sort_unless_sorted(std::span<Record> records, Before before) {
  if (!std::is_sorted(records.begin(), records.end(), before)) {
    std::sort(records.begin(), records.end(), before);
  }
}

}  // namespace

Result<Rows> read_rows(store::Reader& reader, const std::string& folder, Progress& progress,
                       Names known) {
  return RowReader(reader, folder, progress, std::move(known)).read();
}

void sort_rows(Rows& rows) {
  const auto text = [&](uint32_t name) -> const std::string& {
    return rows.names[rows.name_of[name]];
  };
  sort_unless_sorted(rows.ops(), [&](const OpRecord& a, const OpRecord& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.end_ns != b.end_ns) return a.end_ns < b.end_ns;
    if (a.queue != b.queue) return rows.queues[a.queue] < rows.queues[b.queue];
    if (a.name != b.name && text(a.name) != text(b.name)) return text(a.name) < text(b.name);
    if (a.type != b.type && text(a.type) != text(b.type)) return text(a.type) < text(b.type);
    return a.id < b.id;
  });
  sort_unless_sorted(rows.apis(), [](const ApiRecord& a, const ApiRecord& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    return a.id < b.id;
  });
}

}  // namespace sonde::timeline
