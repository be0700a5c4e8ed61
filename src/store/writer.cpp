#include "store/writer.h"

#include <sqlite3.h>
#include <unistd.h>

#include <optional>

#include "store/detail_rows.h"
#include "store/each_row.h"
#include "store/row_buffer.h"
#include "store/schema/schema.h"
#include "store/string_table.h"

namespace sonde::store {

namespace {

constexpr int64_t kEmptyId = 1;  // of '' in rocpd_string and in rocpd_ustring

int64_t or_empty(int64_t id) { return id == 0 ? kEmptyId : id; }

// RPD keeps addresses and handles as text.
struct HexText {
  char text[19];
  uint32_t size;

  explicit HexText(uint64_t value) {
    char digits[16];
    int count = 0;
    do {
      digits[count++] = "0123456789abcdef"[value & 15];
      value >>= 4;
    } while (value != 0);
    text[0] = '0';
    text[1] = 'x';
    for (int i = 0; i < count; ++i) text[2 + i] = digits[count - 1 - i];
    size = static_cast<uint32_t>(count) + 2;
  }
  std::string_view view() const { return {text, size}; }
};

// A rollback journal, not WAL: after a kill the next reader needs nothing but the two files, and a
// finished trace is one file. No fsync, because a trace need not survive a power cut.
constexpr const char* kPragmas =
    "PRAGMA page_size=8192; PRAGMA synchronous=OFF; PRAGMA journal_mode=TRUNCATE;"
    "PRAGMA cache_size=-131072; PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF";

// Rows are only appended, so old pages need not be kept. And nothing is written before a commit: a
// full disk shows there, where it can be tried again, and not within a transaction, which SQLite
// then gives up.
constexpr const char* kSmall = "PRAGMA cache_size=-16384; PRAGMA cache_spill=OFF";
constexpr const char* kLarge = "PRAGMA cache_size=-131072; PRAGMA cache_spill=ON";

}  // namespace

struct Writer::Impl {
  explicit Impl(Database opened) : database(std::move(opened)) {}

  Database database;
  StringTable strings;
  NumberedRows<1> string_rows, ustring_rows;
  NumberedRows<8> api_rows;
  NumberedRows<7> op_rows;
  DetailRows detail_rows;
  NumberedRows<2> api_op_rows;
  RowBuffer<11> kernel_rows;
  RowBuffer<12> copy_rows;
  NumberedRows<6> monitor_rows;
  NumberedRows<3> counter_rows;
  uint64_t rows = 0;
  int64_t data_version = 0;
  std::optional<Error> error;

  Status prepare_rows();
  Status create_schema();
  Status load_existing();
  int64_t add_string(std::string_view text);
  Status start(Mode mode);
  Status begin();
  Status flush();
  Status commit();
  Status between_transactions(const std::string& sql);

  void keep(Status status) {
    if (!status && !error) error = std::move(status).error();
  }

  // After an error SQLite may have rolled back; later rows alone would be inconsistent.
  template <typename Rows, typename... Values>
  void add(Rows& table, const Values&... values) {
    if (error) return;
    table.add(values...);
    keep(table.make_room());
  }
  template <int kColumns, typename... Values>
  int64_t add_numbered(NumberedRows<kColumns>& table, const Values&... values) {
    const int64_t id = table.next_id();
    add(table, values...);
    return id;
  }
};

Status Writer::Impl::prepare_rows() {
  SONDE_TRY(string_rows.prepare(database, "rocpd_string", "string"));
  SONDE_TRY(ustring_rows.prepare(database, "rocpd_ustring", "string"));
  SONDE_TRY(
      api_rows.prepare(database, "rocpd_api",
                       "pid, tid, start, \"end\", apiName_id, category_id, domain_id, args_id"));
  SONDE_TRY(
      op_rows.prepare(database, "rocpd_op",
                      "gpuId, queueId, sequenceId, start, \"end\", description_id, opType_id"));
  SONDE_TRY(detail_rows.prepare(database));
  SONDE_TRY(api_op_rows.prepare(database, "rocpd_api_ops", "api_id, op_id"));
  // One call can launch several kernels or copies; the key is the call, so the first one stays.
  SONDE_TRY(kernel_rows.prepare(
      database,
      "INSERT OR IGNORE INTO rocpd_kernelapi (api_ptr_id, stream, gridX, gridY, gridZ, workgroupX, "
      "workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize, kernelName_id)"));
  SONDE_TRY(copy_rows.prepare(
      database,
      "INSERT OR IGNORE INTO rocpd_copyapi (api_ptr_id, stream, size, width, height, kind, dst, "
      "src, dstDevice, srcDevice, sync, pinned)"));
  SONDE_TRY(monitor_rows.prepare(database, "rocpd_monitor",
                                 "deviceType, deviceId, monitorType, start, \"end\", value"));
  return counter_rows.prepare(database, "rocpd_counter", "value, op_id, name_id");
}

Status Writer::Impl::create_schema() {
  SONDE_TRY(database.exec(rpd_v3_schema()));
  SONDE_TRY(database.exec(sonde_tables()));
  SONDE_TRY(database.exec(sample_tables()));
  SONDE_TRY(database.exec(sonde_views(Flavour::kV3, "CREATE VIEW")));
  SONDE_TRY(prepare_rows());
  add_string("");
  add_numbered(ustring_rows, std::string_view());
  return ok_status();
}

// Goes on where an earlier writer stopped.
Status Writer::Impl::load_existing() {
  for (const char* table : {"sonde_process", "sonde_op_detail", "rocpd_ustring", "rocpd_api"}) {
    SONDE_ASSIGN(const bool there, database.has_table(table));
    if (!there) {
      return make_error(ErrorCode::kUnsupported,
                        "not a trace that Sonde made, nothing can be added", database.path(),
                        "make one from it with: sonde upgrade");
    }
  }
  SONDE_TRY(database.exec(sample_tables()));
  SONDE_TRY(prepare_rows());
  SONDE_TRY(each_row(database, "SELECT string, id FROM rocpd_string ORDER BY id",
                     [&](const Statement& statement) {
                       const auto text = statement.text(0);
                       if (strings.find(text) == 0) strings.insert(text, statement.integer(1));
                     }));
  Status status = ok_status();
  const auto go_on = [&](auto&... tables) {
    return ((status = tables.go_on(database)).ok() && ...);
  };
  if (!go_on(string_rows, ustring_rows, api_rows, op_rows, detail_rows, api_op_rows, monitor_rows,
             counter_rows)) {
    return status;
  }
  // Kept up to date row by row they would cost more than being built again at the end.
  return database.exec(
      "DROP INDEX IF EXISTS rocpd_strin_string_c7b9cd_idx;"
      "DROP INDEX IF EXISTS rocpd_ustri_string_84d4a7_idx");
}

// IMMEDIATE keeps other writers out while readers still come in. Between two transactions a writer
// could slip in and take our ids, which data_version shows.
Status Writer::Impl::begin() {
  if (auto status = database.exec("BEGIN IMMEDIATE"); !status) {
    if (!is_busy(status.error())) return status;
    return make_error(ErrorCode::kIo, "another program is writing to the file", database.path(),
                      "record into a file of its own");
  }
  SONDE_ASSIGN(const int64_t version, database.integer("PRAGMA data_version"));
  if (data_version != 0 && version != data_version) {
    return make_error(ErrorCode::kIo, "another program changed the file while it was being written",
                      database.path(), "record into a file of its own");
  }
  data_version = version;
  return ok_status();
}

Status Writer::Impl::flush() {
  if (error) return *error;
  const auto flush_all = [&](auto&... tables) { (keep(tables.flush()), ...); };
  flush_all(string_rows, ustring_rows, api_rows, op_rows, detail_rows, api_op_rows, kernel_rows,
            copy_rows, monitor_rows, counter_rows);
  if (error) return *error;
  return ok_status();
}

// After a commit: some pragmas do nothing within a transaction.
Status Writer::Impl::between_transactions(const std::string& sql) {
  SONDE_TRY(database.exec("COMMIT; " + sql));
  return begin();
}

Status Writer::Impl::commit() {
  SONDE_TRY(flush());
  if (auto status = database.exec("COMMIT"); !status) {
    // The transaction is still open and COMMIT may be tried again.
    if (!is_busy(status.error())) error = status.error();
    return status;
  }
  auto status = begin();
  keep(status);
  return status;
}

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

Writer::~Writer() {
  if (impl_ == nullptr) return;
  sqlite3* handle = impl_->database.handle();
  if (sqlite3_get_autocommit(handle) == 0) {
    sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  // Removes the empty journal file.
  sqlite3_exec(handle, "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr);
}

int64_t Writer::Impl::add_string(std::string_view text) {
  const int64_t id = add_numbered(string_rows, text);
  strings.insert(text, id);
  return id;
}

Status Writer::Impl::start(Mode mode) {
  SONDE_TRY(database.exec(kPragmas));
  SONDE_TRY(begin());
  SONDE_TRY(mode == Mode::kCreate ? create_schema() : load_existing());
  SONDE_TRY(database.exec(
      "UPDATE rocpd_metadata SET value = CAST(value AS integer) + 1 WHERE tag = 'session_count'"));
  return commit();
}

Result<Writer> Writer::open(const std::string& path, Mode mode) {
  const bool create = mode == Mode::kCreate;
  SONDE_ASSIGN(auto database,
               Database::open(path, create ? Database::Mode::kCreate : Database::Mode::kReadWrite));
  Writer writer(std::make_unique<Impl>(std::move(database)));
  if (auto started = writer.impl_->start(mode); !started) {
    if (create) ::unlink(path.c_str());
    return std::move(started).error();
  }
  return writer;
}

int64_t Writer::string(std::string_view text) {
  const int64_t known = impl_->strings.find(text);
  return known != 0 ? known : impl_->add_string(text);
}

int64_t Writer::ustring(std::string_view text) {
  if (text.empty()) return kEmptyId;
  return impl_->add_numbered(impl_->ustring_rows, text);
}

int64_t Writer::api(const ApiRow& row) {
  ++impl_->rows;
  return impl_->add_numbered(impl_->api_rows, row.pid, row.tid, row.start_ns, row.end_ns,
                             or_empty(row.name_id), or_empty(row.category_id),
                             or_empty(row.domain_id), or_empty(row.args_id));
}

int64_t Writer::op(const OpRow& row) {
  ++impl_->rows;
  return impl_->add_numbered(impl_->op_rows, row.gpu_id, row.queue_id, row.sequence_id,
                             row.start_ns, row.end_ns, or_empty(row.name_id),
                             or_empty(row.type_id));
}

void Writer::op_detail(const OpDetailRow& row) { impl_->add(impl_->detail_rows, row); }

void Writer::api_op(int64_t api_id, int64_t op_id) {
  impl_->add_numbered(impl_->api_op_rows, api_id, op_id);
}

void Writer::kernel_api(const KernelApiRow& row) {
  const HexText stream(row.stream.value_or(0));
  const std::string_view stream_text = row.stream ? stream.view() : "";
  impl_->add(impl_->kernel_rows, row.api_id, stream_text, row.grid[0], row.grid[1], row.grid[2],
             row.group[0], row.group[1], row.group[2], row.group_segment_bytes,
             row.private_segment_bytes, or_empty(row.kernel_name_id));
}

void Writer::copy_api(const CopyApiRow& row) {
  const HexText stream(row.stream.value_or(0)), dst(row.dst), src(row.src);
  const std::string_view stream_text = row.stream ? stream.view() : "";
  impl_->add(impl_->copy_rows, row.api_id, stream_text, row.size_bytes, row.width, row.height,
             row.kind, dst.view(), src.view(), row.dst_device, row.src_device,
             static_cast<int64_t>(row.sync), static_cast<int64_t>(row.pinned));
}

void Writer::monitor(const MonitorRow& row) {
  impl_->add_numbered(impl_->monitor_rows, row.device_type, row.device_id, row.monitor_type,
                      row.start_ns, row.end_ns, row.value);
}

void Writer::counter(int64_t op_id, int64_t name_id, double value) {
  impl_->add_numbered(impl_->counter_rows, value, op_id, or_empty(name_id));
}

void Writer::metadata(std::string_view tag, std::string_view value) {
  const auto replace = [&]() -> Status {
    Database& database = impl_->database;
    SONDE_TRY(run(database, "UPDATE rocpd_metadata SET value = ?2 WHERE tag = ?1", tag, value));
    if (sqlite3_changes(database.handle()) > 0) return ok_status();
    return run(database, "INSERT INTO rocpd_metadata (tag, value) VALUES (?1, ?2)", tag, value);
  };
  impl_->keep(replace());
}

Database& Writer::database() { return impl_->database; }

Status Writer::keep_small() {
  SONDE_TRY(commit());
  return impl_->between_transactions(kSmall);
}

Status Writer::commit() { return impl_->commit(); }

Status Writer::finish(Arguments arguments) {
  SONDE_TRY(commit());
  SONDE_TRY(impl_->between_transactions(kLarge));
  auto& database = impl_->database;
  SONDE_TRY(database.exec(rpd_v3_name_index()));
  if (arguments == Arguments::kIndexed) SONDE_TRY(database.exec(rpd_v3_argument_index()));
  SONDE_TRY(database.exec(sonde_indices()));
  SONDE_TRY(database.exec(sonde_derived_tables()));
  SONDE_TRY(database.exec("PRAGMA analysis_limit=400; ANALYZE"));
  SONDE_TRY(commit());
  return impl_->between_transactions("PRAGMA journal_mode=DELETE; PRAGMA journal_mode=TRUNCATE");
}

uint64_t Writer::bytes() {
  const auto pages = impl_->database.integer("PRAGMA page_count");
  const auto size = impl_->database.integer("PRAGMA page_size");
  return pages && size ? static_cast<uint64_t>(*pages) * static_cast<uint64_t>(*size) : 0;
}

uint64_t Writer::rows() const { return impl_->rows; }

}  // namespace sonde::store
