#include "importers/sink/store_sink.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/redact.h"
#include "base/strings.h"
#include "importers/sink/strides.h"
#include "store/api_domain.h"
#include "store/bind.h"

namespace sonde::importers {

namespace {

// What is not known is NULL in the file.
std::optional<std::string_view> known_text(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}
std::optional<int64_t> known_process(int64_t process) {
  return process == 0 ? std::nullopt : std::optional(process);
}

void take(std::string& known, std::string_view said) {
  if (!said.empty()) known = said;
}

}  // namespace

Result<StoreSink> StoreSink::create(const std::string& path) {
  SONDE_ASSIGN(auto writer, store::Writer::open(path, store::Writer::Mode::kCreate));
  StoreSink sink(std::move(writer));
  SONDE_TRY(sink.prepare());
  return sink;
}

Status StoreSink::prepare() {
  store::Database& database = writer_.database();
  // What is sorted at the end is sorted in a file, or memory would grow with the trace. Such
  // settings cannot change inside of a transaction.
  SONDE_TRY(
      database.exec("COMMIT; PRAGMA temp_store=FILE; PRAGMA cache_size=-8192; "
                    "BEGIN IMMEDIATE"));
  SONDE_TRY(op_args_.prepare(database, "INSERT INTO sonde_op_args (op_id, args)"));
  SONDE_TRY(counters_.prepare(
      database, "INSERT INTO sonde_counter (process_id, tid, time_ns, name_id, value)"));
  SONDE_TRY(flows_.prepare(database,
                           "INSERT INTO sonde_flow (flow, category_id, name_id, phase, process_id, "
                           "tid, time_ns)"));
  return frames_.prepare(database, "INSERT INTO rocpd_stackframe (api_ptr_id, depth, name_id)");
}

void StoreSink::keep_status(Status status) {
  if (!status && status_) status_ = std::move(status);
}

template <typename... Values>
void StoreSink::insert(const char* sql, const Values&... values) {
  keep_status(store::run(writer_.database(), sql, values...));
}

template <typename Buffer, typename... Values>
void StoreSink::add(Buffer& buffer, const Values&... values) {
  buffer.add(values...);
  if (buffer.full()) keep_status(buffer.flush());
}

void StoreSink::begin_file(const std::string& path, const std::string& kind, int64_t shift_ns) {
  file_index_ = next_index_++;
  ++counts_.files;
  shift_ns_ = shift_ns;
  process_of_.clear();
  note(0, "imported from", path);
  note(0, "imported as", kind);
}

Name StoreSink::name(std::string_view text) {
  if (text.empty()) return 0;
  const Name id = writer_.string(text);
  const auto index = static_cast<size_t>(id);
  if (index >= domain_of_name_.size()) {
    domain_of_name_.resize(index + 1, 0);
    const std::string_view domain = store::domain_of_api(text);
    if (!domain.empty()) {
      const Name domain_id = writer_.string(domain);
      domain_of_name_[index] = domain_id;
    }
  }
  return id;
}

int64_t StoreSink::process(int64_t pid) {
  const auto [entry, is_new] =
      process_of_.try_emplace(pid, static_cast<int64_t>(processes_.size()) + 1);
  if (is_new) {
    processes_.emplace_back().pid = pid + file_index_ * kPidStride;
    use_index(pid / kPidStride);
  }
  return entry->second;
}

int64_t StoreSink::api(const Api& row) {
  ProcessState& process = state(row.process);
  const int64_t start = row.start_ns + shift_ns_;
  const int64_t end = row.end_ns + shift_ns_;
  process.start_ns = std::min(process.start_ns.value_or(start), start);
  process.end_ns = std::max(process.end_ns.value_or(end), end);
  if (row.tid != process.last_tid) {
    process.threads.try_emplace(row.tid);
    process.last_tid = row.tid;
  }
  Name domain = row.domain;
  if (domain == 0 && static_cast<size_t>(row.name) < domain_of_name_.size()) {
    domain = domain_of_name_[static_cast<size_t>(row.name)];
  }
  ++counts_.apis;
  return writer_.api({process.pid, row.tid, start, end, row.name, row.category, domain,
                      writer_.ustring(row.args)});
}

// A file that was made from several takes as many indices.
void StoreSink::use_index(int64_t of_file) {
  constexpr int64_t kMostFiles = 10'000;  // beyond, a number is just large
  if (of_file > 0 && of_file < kMostFiles) {
    next_index_ = std::max(next_index_, file_index_ + of_file + 1);
  }
}

int64_t StoreSink::op(const Op& row) {
  if (row.gpu >= kGpuStride) use_index(row.gpu / kGpuStride);
  const int64_t id =
      writer_.op({row.gpu + file_index_ * kGpuStride, row.queue, row.sequence,
                  row.start_ns + shift_ns_, row.end_ns + shift_ns_, row.name, row.type});
  if (!row.args.empty()) add(op_args_, id, row.args);
  ++counts_.ops;
  return id;
}

void StoreSink::launch(const Launch& launch) {
  store::OpDetailRow detail;
  detail.op_id = launch.op;
  detail.process_id = launch.process == 0 ? -1 : launch.process;
  detail.api_id = launch.api == 0 ? -1 : launch.api;
  detail.queued_ns = launch.queued_ns < 0 ? -1 : launch.queued_ns + shift_ns_;
  detail.submitted_ns = launch.submitted_ns < 0 ? -1 : launch.submitted_ns + shift_ns_;
  detail.bytes = launch.bytes;
  std::copy_n(launch.grid, 3, detail.grid);
  std::copy_n(launch.group, 3, detail.group);
  detail.group_segment_bytes = launch.group_segment_bytes;
  detail.private_segment_bytes = launch.private_segment_bytes;
  detail.status = launch.status;
  writer_.op_detail(detail);
  if (launch.api == 0) return;
  writer_.api_op(launch.api, launch.op);
  ++counts_.links;
  if (store::moves_memory(launch.op_class)) {
    store::CopyApiRow copy;
    copy.api_id = launch.api;
    copy.stream = launch.stream;
    copy.size_bytes = std::max<int64_t>(launch.bytes, 0);
    writer_.copy_api(copy);
  } else if (launch.op_class == store::OpClass::kKernel) {
    store::KernelApiRow kernel;
    kernel.api_id = launch.api;
    kernel.stream = launch.stream;
    for (int i = 0; i < 3; ++i) {
      kernel.grid[i] = std::max<int64_t>(launch.grid[i], 0);
      kernel.group[i] = std::max<int64_t>(launch.group[i], 0);
    }
    kernel.group_segment_bytes = std::max<int64_t>(launch.group_segment_bytes, 0);
    kernel.private_segment_bytes = std::max<int64_t>(launch.private_segment_bytes, 0);
    kernel.kernel_name_id = launch.name;
    writer_.kernel_api(kernel);
  }
}

void StoreSink::op_counter(int64_t op, Name name, double value) {
  writer_.counter(op, name, value);
  ++counts_.counters;
}

// As the HSA backend notes it; the table is made of these notes when the file is finished.
void StoreSink::kernel_code(const KernelCode& code) {
  if (!noted_kernels_.emplace(code.process, code.gpu, std::string(code.kernel)).second) return;
  std::string text = fmt::format("{{\"name\":{},\"gpu\":{}", json_quote(code.kernel), code.gpu);
  const std::pair<const char*, int64_t> registers[] = {
      {"vgprs", code.vgprs}, {"accumulation_vgprs", code.agprs}, {"sgprs", code.sgprs}};
  for (const auto& [key, count] : registers) {
    if (count >= 0) text += fmt::format(",\"{}\":{}", key, count);
  }
  note(code.process, "hsa.kernel", text + "}");
}

void StoreSink::describe(int64_t process, const ProcessFacts& facts) {
  ProcessState& known = state(process);
  if (facts.ppid) known.ppid = facts.ppid;
  if (facts.rank) known.rank = facts.rank;
  take(known.executable, facts.executable);
  take(known.command, redact_text(facts.command));
  take(known.directory, facts.directory);
  take(known.host, facts.host);
  take(known.exit, facts.exit);
  take(known.clock, facts.clock);
}

void StoreSink::thread(int64_t process, int64_t tid, std::string_view name) {
  take(state(process).threads[tid], name);
}

void StoreSink::device(const Device& device) {
  insert(
      "INSERT INTO sonde_device (process_id, gpu_id, backend, name, vendor, kind, location, "
      "memory_bytes, compute_units, clock_mhz) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      known_process(device.process), device.gpu + file_index_ * kGpuStride,
      known_text(device.backend), known_text(device.name), known_text(device.vendor),
      known_text(device.kind), known_text(device.location), device.memory_bytes,
      device.compute_units, device.clock_mhz);
}

void StoreSink::queue(const Queue& queue) {
  insert(
      "INSERT INTO sonde_queue (process_id, queue_id, gpu_id, handle, context) "
      "VALUES (?, ?, ?, ?, ?)",
      known_process(queue.process), queue.queue, queue.gpu + file_index_ * kGpuStride, queue.handle,
      queue.context);
}

void StoreSink::counter(const Counter& row) {
  add(counters_, row.process, row.tid, row.time_ns + shift_ns_, std::max<Name>(row.name, 1),
      row.value);
  ++counts_.counters;
}

void StoreSink::sample(const Sample& row) {
  writer_.monitor({row.device_type, row.type, row.value, row.device + file_index_ * kGpuStride,
                   row.start_ns + shift_ns_, row.end_ns + shift_ns_});
  ++counts_.counters;
}

void StoreSink::flow(const Flow& row) {
  add(flows_, row.id, std::max<Name>(row.category, 1), std::max<Name>(row.name, 1),
      std::string_view(&row.phase, 1), row.process, row.tid, row.time_ns + shift_ns_);
}

void StoreSink::stack_frame(int64_t api, int depth, Name name) {
  add(frames_, api, static_cast<int64_t>(depth), std::max<Name>(name, 1));
}

void StoreSink::unfinished(int64_t api) {
  insert("INSERT OR IGNORE INTO sonde_unfinished (api_id) VALUES (?)", api);
}

void StoreSink::note(int64_t process, std::string_view key, std::string_view value) {
  insert("INSERT INTO sonde_note (process_id, key, value) VALUES (?, ?, ?)", known_process(process),
         key, redact_fact(key, value));
}

void StoreSink::clock(int64_t process, std::string_view name, int64_t value, int64_t time_ns) {
  insert(
      "INSERT INTO sonde_clock_snapshot (process_id, clock, value, monotonic_ns) "
      "VALUES (?, ?, ?, ?)",
      known_process(process), name, value, time_ns + shift_ns_);
}

void StoreSink::further_call(int64_t api, int64_t op) {
  writer_.api_op(api, op);
  ++counts_.links;
}

const Table* StoreSink::table(std::string_view name) {
  if (!tables_) tables_.emplace(writer_.database());
  auto found = tables_->find(name);
  if (found) return *found;
  keep_status(std::move(found).error());
  return nullptr;
}

int64_t StoreSink::last_id(const Table& table) {
  auto id = tables_->last_id(table);
  if (id) return *id;
  keep_status(std::move(id).error());
  return 0;
}

void StoreSink::row(const Table& table, const std::vector<Cell>& cells) {
  keep_status(tables_->insert(table, cells, shift_ns_, file_index_ * kGpuStride));
}

void StoreSink::diagnose(const char* severity, const std::string& text) {
  insert("INSERT INTO sonde_diagnostic (severity, source, text) VALUES (?, 'import', ?)", severity,
         text);
}

void StoreSink::keep(const Tally& tally) {
  for (const auto& [kind, rows] : tally.counts()) {
    note(0, "events " + kind, std::to_string(rows));
  }
  for (const std::string& warning : tally.warnings()) diagnose("warning", warning);
  for (const std::string& remark : tally.remarks()) diagnose("info", remark);
}

void StoreSink::write_processes() {
  int64_t id = 0;
  for (const ProcessState& process : processes_) {
    ++id;
    insert(
        "INSERT INTO sonde_process (id, pid, ppid, start_ns, end_ns, executable, command, "
        "directory, host, rank, clock, exit) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id, process.pid, process.ppid, process.start_ns, process.end_ns,
        known_text(process.executable), known_text(process.command), known_text(process.directory),
        known_text(process.host), process.rank, known_text(process.clock),
        known_text(process.exit));
    for (const auto& [tid, name] : process.threads) {
      insert("INSERT INTO sonde_thread (process_id, tid, name) VALUES (?, ?, ?)", id, tid,
             known_text(name));
    }
  }
}

Status StoreSink::finish() {
  write_processes();
  keep_status(op_args_.flush());
  keep_status(counters_.flush());
  keep_status(flows_.flush());
  keep_status(frames_.flush());
  SONDE_TRY(status_);
  // The arguments of other tools are long: with the index the file would be twice as large, and
  // importing take half as long again.
  return writer_.finish(store::Writer::Arguments::kPlain);
}

StoreSink::Counts StoreSink::counts() const {
  Counts counts = counts_;
  counts.processes = processes_.size();
  return counts;
}

}  // namespace sonde::importers
