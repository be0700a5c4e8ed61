// StoreSink: writes what an importer reads into an .rpd, with everything the format has room for.
// Several files may go into one .rpd: each begins with begin_file(), which gives its processes and
// GPUs numbers of their own (the strides of RPD's napi and nop views) and its clock an offset.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "importers/sink/sink.h"
#include "importers/sink/store_tables.h"
#include "importers/sink/tally.h"
#include "store/row_buffer.h"
#include "store/writer.h"

namespace sonde::importers {

class StoreSink : public Sink {
 public:
  static Result<StoreSink> create(const std::string& path);

  // The rows that follow are of this file. `shift_ns` is added to all times.
  // `kind` is the importer's name.
  void begin_file(const std::string& path, const std::string& kind, int64_t shift_ns);
  // Writes what the importer could not use or wants to be known into the file.
  void keep(const Tally& tally);
  // Completes the .rpd.
  Status finish();

  struct Counts {
    uint64_t ops = 0, apis = 0, links = 0, counters = 0, processes = 0, files = 0;
  };
  Counts counts() const;

  Name name(std::string_view text) override;
  int64_t process(int64_t pid) override;
  int64_t api(const Api& row) override;
  int64_t op(const Op& row) override;
  void launch(const Launch& launch) override;
  void kernel_code(const KernelCode& code) override;
  void op_counter(int64_t op, Name name, double value) override;
  void describe(int64_t process, const ProcessFacts& facts) override;
  void thread(int64_t process, int64_t tid, std::string_view name) override;
  void device(const Device& device) override;
  void queue(const Queue& queue) override;
  void counter(const Counter& row) override;
  void sample(const Sample& row) override;
  void flow(const Flow& row) override;
  void stack_frame(int64_t api, int depth, Name name) override;
  void unfinished(int64_t api) override;
  void note(int64_t process, std::string_view key, std::string_view value) override;
  void clock(int64_t process, std::string_view name, int64_t value, int64_t time_ns) override;
  void further_call(int64_t api, int64_t op) override;
  const Table* table(std::string_view name) override;
  int64_t last_id(const Table& table) override;
  void row(const Table& table, const std::vector<Cell>& cells) override;
  Status status() const override { return status_; }

 private:
  struct ProcessState {
    int64_t pid = 0;
    std::optional<int64_t> ppid, rank, start_ns, end_ns;
    std::string executable, command, directory, host, clock, exit;
    std::unordered_map<int64_t, std::string> threads;  // name by tid; "" = none
    int64_t last_tid = INT64_MIN;
  };

  explicit StoreSink(store::Writer writer) : writer_(std::move(writer)) {}
  Status prepare();
  void keep_status(Status status);
  template <typename... Values>
  void insert(const char* sql, const Values&... values);
  template <typename Buffer, typename... Values>
  void add(Buffer& buffer, const Values&... values);
  void diagnose(const char* severity, const std::string& text);
  void write_processes();
  void use_index(int64_t of_file);
  ProcessState& state(int64_t process) { return processes_[static_cast<size_t>(process) - 1]; }

  store::Writer writer_;
  store::RowBuffer<2> op_args_;
  store::RowBuffer<5> counters_;
  store::RowBuffer<7> flows_;
  store::RowBuffer<3> frames_;
  std::optional<StoreTables> tables_;    // made by table(), when this no longer moves
  std::vector<ProcessState> processes_;  // by handle - 1
  std::set<std::tuple<int64_t, int64_t, std::string>> noted_kernels_;
  std::unordered_map<int64_t, int64_t> process_of_;  // handle by pid of the current file
  std::vector<Name> domain_of_name_;                 // by name id; what the name itself says
  int64_t file_index_ = 0, next_index_ = 0;
  int64_t shift_ns_ = 0;
  Counts counts_;
  Status status_ = ok_status();
};

}  // namespace sonde::importers
