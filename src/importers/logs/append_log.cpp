#include "importers/logs/append_log.h"

#include <algorithm>
#include <map>
#include <set>

#include "importers/import.h"
#include "store/bind.h"
#include "store/writer.h"

namespace sonde::importers {

namespace {

constexpr int64_t kLineNs = 1000;  // what an importer gives a line of a log without times

class LogSink : public Sink {
 public:
  LogSink(store::Writer& writer, const std::string& title,
          const std::vector<int64_t>& line_times_ns)
      : writer_(writer),
        title_(title),
        domain_(writer.string(title)),
        category_(writer.string("log")),
        line_times_ns_(line_times_ns) {}

  uint64_t entries() const { return entries_; }

  Name name(std::string_view text) override { return text.empty() ? 0 : writer_.string(text); }
  int64_t process(int64_t pid) override { return pid == 0 ? main_pid() : pid; }

  int64_t api(const Api& row) override {
    ++entries_;
    threads_.insert({row.process, row.tid});
    return writer_.api({row.process, row.tid, time_of(row.start_ns), time_of(row.end_ns), row.name,
                        category_, domain_, writer_.ustring(row.args)});
  }
  int64_t op(const Op& row) override {
    moments_.push_back({row.start_ns, row.name != 0 ? row.name : row.type, std::string(row.args)});
    return static_cast<int64_t>(moments_.size());
  }
  void launch(const Launch& launch) override {
    moments_[static_cast<size_t>(launch.op) - 1].process = launch.process;
  }
  void counter(const Counter& row) override {
    ++entries_;
    insert(
        "INSERT INTO sonde_counter (process_id, tid, time_ns, name_id, value) "
        "VALUES (?, ?, ?, ?, ?)",
        process_id(row.process), row.tid, time_of(row.time_ns), std::max<Name>(row.name, 1),
        row.value);
  }
  Status status() const override { return status_; }

  Status finish(const Tally& tally) {
    for (const Moment& moment : moments_) {
      api({moment.process == 0 ? main_pid() : moment.process, 0, moment.time_ns, moment.time_ns,
           moment.name, 0, 0, moment.args});
    }
    for (const auto& [pid, tid] : threads_) name_thread(pid, tid);
    for (const std::string& warning : tally.warnings()) diagnose("warning", warning);
    for (const std::string& remark : tally.remarks()) diagnose("info", remark);
    SONDE_TRY(status_);
    return writer_.finish();
  }

 private:
  struct Moment {
    int64_t time_ns = 0;
    Name name = 0;
    std::string args;
    int64_t process = 0;
  };

  template <typename... Values>
  void insert(const char* sql, const Values&... values) {
    Status status = store::run(writer_.database(), sql, values...);
    if (!status && status_) status_ = std::move(status);
  }

  int64_t time_of(int64_t time_ns) const {
    if (line_times_ns_.empty()) return time_ns;
    const auto line = static_cast<size_t>(std::max<int64_t>(time_ns / kLineNs, 1)) - 1;
    return line_times_ns_[std::min(line, line_times_ns_.size() - 1)];
  }

  // 0 where there is none.
  int64_t integer(const std::string& sql) {
    const auto found = writer_.database().integer("SELECT coalesce((" + sql + "), 0)");
    return found ? *found : 0;
  }

  int64_t main_pid() { return integer("SELECT pid FROM sonde_process ORDER BY id LIMIT 1"); }

  int64_t process_id(int64_t pid) {
    const auto [known, is_new] = process_ids_.try_emplace(pid, 0);
    if (!is_new) return known->second;
    const std::string id_of_pid =
        "SELECT max(id) FROM sonde_process WHERE pid = " + std::to_string(pid);
    known->second = integer(id_of_pid);
    if (known->second != 0) return known->second;
    insert("INSERT INTO sonde_process (pid) VALUES (?)", pid);
    known->second = integer(id_of_pid);
    return known->second;
  }

  // The log's numbers of threads are not the system's.
  void name_thread(int64_t pid, int64_t tid) {
    const std::string name =
        tid == 0 ? title_ : title_ + ", thread " + std::to_string(++threads_of_[pid]);
    insert("INSERT INTO sonde_thread (process_id, tid, name) VALUES (?, ?, ?)", process_id(pid),
           tid, name);
  }

  void diagnose(const char* severity, const std::string& text) {
    insert("INSERT INTO sonde_diagnostic (severity, source, text) VALUES (?, ?, ?)", severity,
           title_, text);
  }

  store::Writer& writer_;
  const std::string title_;
  const Name domain_, category_;
  const std::vector<int64_t>& line_times_ns_;
  std::vector<Moment> moments_;
  std::set<std::pair<int64_t, int64_t>> threads_;  // pid, tid
  std::map<int64_t, int64_t> process_ids_;         // by pid
  std::map<int64_t, int> threads_of_;              // by pid
  uint64_t entries_ = 0;
  Status status_ = ok_status();
};

}  // namespace

Result<AppendedLog> append_log(const std::string& importer_name, const std::string& log,
                               const std::string& rpd, const std::vector<int64_t>& line_times_ns) {
  SONDE_ASSIGN(Found found, find_importer(log, importer_name));
  SONDE_ASSIGN(auto writer, store::Writer::open(rpd, store::Writer::Mode::kAppend));
  const std::string title = importer_name == "amd-log" ? "hip log" : "miopen log";
  LogSink sink(writer, title, line_times_ns);
  AppendedLog appended;
  SONDE_TRY(read_into(found, log, sink, appended.tally));
  SONDE_TRY(sink.finish(appended.tally));
  appended.entries = sink.entries();
  return appended;
}

}  // namespace sonde::importers
