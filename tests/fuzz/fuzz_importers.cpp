// link: sonde_importers
// Any bytes as the trace of another tool: every importer that takes them for its own, and one more
// that the last byte chooses, must read them without a crash, in bounded memory, and keep to what
// sink.h asks of it. The sink here checks that and keeps nothing.
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "base/temporary_directory.h"
#include "importers/import.h"

namespace {

using namespace sonde;
using namespace sonde::importers;

class CheckingSink : public Sink {
 public:
  Name name(std::string_view text) override {
    check_text(text);
    if (text.empty()) return 0;
    return names_.try_emplace(std::string(text), static_cast<Name>(names_.size()) + 1)
        .first->second;
  }
  int64_t process(int64_t pid) override {
    return processes_.try_emplace(pid, static_cast<int64_t>(processes_.size()) + 1).first->second;
  }
  int64_t api(const Api& row) override {
    check_process(row.process);
    check_name(row.name);
    check_name(row.category);
    check_name(row.domain);
    check_text(row.args);
    return ++apis_;
  }
  int64_t op(const Op& row) override {
    check_name(row.name);
    check_name(row.type);
    check_text(row.args);
    launched_.push_back(false);
    return static_cast<int64_t>(launched_.size());
  }
  void launch(const Launch& launch) override {
    check_op(launch.op);
    check_api(launch.api);
    check_name(launch.name);
    if (launch.process != 0) check_process(launch.process);
    SONDE_CHECK(!launched_[static_cast<size_t>(launch.op) - 1]);
    launched_[static_cast<size_t>(launch.op) - 1] = true;
  }
  void op_counter(int64_t op, Name name, double) override {
    check_op(op);
    check_name(name);
  }
  void describe(int64_t process, const ProcessFacts& facts) override {
    check_process(process);
    for (const auto text : {facts.executable, facts.command, facts.host, facts.clock}) {
      check_text(text);
    }
  }
  void thread(int64_t process, int64_t, std::string_view name) override {
    check_process(process);
    check_text(name);
  }
  void device(const Device& device) override {
    if (device.process != 0) check_process(device.process);
    for (const auto text : {device.backend, device.name, device.vendor, device.kind}) {
      check_text(text);
    }
  }
  void counter(const Counter& row) override {
    check_process(row.process);
    check_name(row.name);
    SONDE_CHECK(std::isfinite(row.value));
  }
  void sample(const Sample& row) override {
    check_text(row.device_type);
    check_text(row.type);
    check_text(row.value);
  }
  void flow(const Flow& row) override {
    check_process(row.process);
    check_name(row.category);
    check_name(row.name);
    check_text(row.id);
  }
  void stack_frame(int64_t api, int, Name name) override {
    SONDE_CHECK(api > 0);
    check_api(api);
    check_name(name);
  }
  void unfinished(int64_t api) override { check_api(api); }
  void note(int64_t process, std::string_view key, std::string_view value) override {
    if (process != 0) check_process(process);
    check_text(key);
    check_text(value);
  }

 private:
  static void check_text(std::string_view text) { SONDE_CHECK(valid_utf8(text) == text); }
  void check_name(Name name) const {
    SONDE_CHECK(name >= 0 && name <= static_cast<Name>(names_.size()));
  }
  void check_process(int64_t process) const {
    SONDE_CHECK(process > 0 && process <= static_cast<int64_t>(processes_.size()));
  }
  void check_api(int64_t api) const { SONDE_CHECK(api >= 0 && api <= apis_); }
  void check_op(int64_t op) const {
    SONDE_CHECK(op > 0 && op <= static_cast<int64_t>(launched_.size()));
  }

  std::unordered_map<std::string, Name> names_;
  std::unordered_map<int64_t, int64_t> processes_;
  int64_t apis_ = 0;
  std::vector<bool> launched_;
};

void read(const Importer& importer, const std::string& path) {
  CheckingSink sink;
  Tally tally;
  Found found;
  found.importer = &importer;
  (void)read_into(found, path, sink, tally);
  for (const std::string& line : tally.warnings()) SONDE_CHECK(line.find('\n') == line.npos);
  if (importer.clock == nullptr) return;
  auto source = Source::open(path);
  if (source) (void)importer.clock(*source);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Result<TemporaryDirectory> directory = [] {
    if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
    return TemporaryDirectory::create();
  }();
  SONDE_CHECK(directory.ok());
  if (size == 0) return 0;
  const std::string path = directory->path() + "/results_kernel_trace.csv";
  FILE* file = std::fopen(path.c_str(), "wb");
  SONDE_CHECK(file != nullptr);
  SONDE_CHECK(std::fwrite(data, 1, size, file) == size);
  std::fclose(file);

  const auto importers = all_importers();
  const size_t chosen = data[size - 1] % importers.size();
  const auto source = Source::open(path);
  if (!source) return 0;
  for (size_t i = 0; i < importers.size(); ++i) {
    const bool takes = importers[i].sniff({path, source->head()}) != Sure::kNo;
    if (takes || i == chosen) read(importers[i], path);
  }
  return 0;
}
