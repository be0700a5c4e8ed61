// CheckedSink: stands before the sink that an importer fills, and leaves out what no trace can have
// seen: times beyond any clock, and calls and operations that took years. Analyses subtract times
// and add lengths up, and one such row would make all their figures wrong.
#pragma once

#include "importers/sink/sink.h"
#include "importers/sink/tally.h"

namespace sonde::importers {

class CheckedSink : public Sink {
 public:
  CheckedSink(Sink& sink, Tally& tally, std::string_view path)
      : sink_(sink), tally_(tally), path_(path) {}

  Wants wants() const override { return sink_.wants(); }
  Name name(std::string_view text) override { return sink_.name(text); }
  int64_t process(int64_t pid) override { return sink_.process(pid); }

  // 0 = left out, and so is everything that refers to it.
  int64_t api(const Api& row) override;
  int64_t op(const Op& row) override;
  void launch(const Launch& launch) override;
  void op_counter(int64_t op, Name name, double value) override;
  void counter(const Counter& row) override;
  void sample(const Sample& row) override;
  void flow(const Flow& row) override;
  void stack_frame(int64_t api, int depth, Name name) override;
  void unfinished(int64_t api) override;
  void further_call(int64_t api, int64_t op) override;

  void describe(int64_t process, const ProcessFacts& facts) override {
    sink_.describe(process, facts);
  }
  void thread(int64_t process, int64_t tid, std::string_view name) override {
    sink_.thread(process, tid, name);
  }
  void kernel_code(const KernelCode& code) override { sink_.kernel_code(code); }
  void device(const Device& row) override { sink_.device(row); }
  void queue(const Queue& row) override { sink_.queue(row); }
  void note(int64_t process, std::string_view key, std::string_view value) override {
    sink_.note(process, key, value);
  }
  void clock(int64_t process, std::string_view name, int64_t value, int64_t time_ns) override {
    sink_.clock(process, name, value, time_ns);
  }
  const Table* table(std::string_view name) override { return sink_.table(name); }
  int64_t last_id(const Table& table) override { return sink_.last_id(table); }
  void row(const Table& table, const std::vector<Cell>& cells) override { sink_.row(table, cells); }
  Status status() const override { return sink_.status(); }

 private:
  bool is_possible(int64_t start_ns, int64_t end_ns);

  Sink& sink_;
  Tally& tally_;
  std::string path_;
};

}  // namespace sonde::importers
