// RecordingSink: keeps what an importer says, for unit tests of importers.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/test_support.h"
#include "importers/import.h"
#include "importers/importer.h"

namespace sonde::importers {

class RecordingSink : public Sink {
 public:
  struct ApiSeen {
    Api row;
    std::string name, category, domain, args;
    int64_t pid = 0;
  };
  struct OpSeen {
    Op row;
    std::string name, type, args;
    Launch launch;
    bool launched = false;
  };
  struct FlowSeen {
    Flow row;
    std::string category, name, id;
  };

  std::vector<std::string> texts = {""};
  std::vector<ApiSeen> apis;  // by id - 1
  std::vector<OpSeen> ops;
  std::vector<Counter> counters;
  std::vector<FlowSeen> flows;
  std::vector<int64_t> pids;  // by handle - 1
  std::map<int64_t, ProcessFacts> facts;
  std::map<std::pair<int64_t, int64_t>, std::string> threads;
  std::vector<int64_t> unfinished_apis;
  std::map<std::string, std::string> notes;
  std::vector<int64_t> device_gpus;
  std::vector<std::tuple<int64_t, std::string, double>> op_counters;

  const std::string& text(Name name) const { return texts[static_cast<size_t>(name)]; }
  // The first one of this name, which a test cannot do without.
  const ApiSeen& find_api(std::string_view name) const { return first_of(apis, name); }
  const OpSeen& find_op(std::string_view name) const { return first_of(ops, name); }

  Name name(std::string_view wanted) override {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i] == wanted) return static_cast<Name>(i);
    }
    texts.emplace_back(wanted);
    return static_cast<Name>(texts.size()) - 1;
  }
  int64_t process(int64_t pid) override {
    for (size_t i = 0; i < pids.size(); ++i) {
      if (pids[i] == pid) return static_cast<int64_t>(i) + 1;
    }
    pids.push_back(pid);
    return static_cast<int64_t>(pids.size());
  }
  int64_t api(const Api& row) override {
    apis.push_back({row, text(row.name), text(row.category), text(row.domain),
                    std::string(row.args), pids[static_cast<size_t>(row.process) - 1]});
    return static_cast<int64_t>(apis.size());
  }
  int64_t op(const Op& row) override {
    ops.push_back({row, text(row.name), text(row.type), std::string(row.args), {}, false});
    return static_cast<int64_t>(ops.size());
  }
  void launch(const Launch& launch) override {
    OpSeen& op = ops[static_cast<size_t>(launch.op) - 1];
    SONDE_CHECK(!op.launched);
    op.launch = launch;
    op.launched = true;
  }
  void describe(int64_t process, const ProcessFacts& said) override { facts[process] = said; }
  void thread(int64_t process, int64_t tid, std::string_view name) override {
    threads[{process, tid}] = name;
  }
  void device(const Device& device) override { device_gpus.push_back(device.gpu); }
  void op_counter(int64_t op, Name name, double value) override {
    op_counters.emplace_back(op, text(name), value);
  }
  void counter(const Counter& row) override { counters.push_back(row); }
  void flow(const Flow& row) override {
    flows.push_back({row, text(row.category), text(row.name), std::string(row.id)});
  }
  void unfinished(int64_t api) override { unfinished_apis.push_back(api); }
  void note(int64_t, std::string_view key, std::string_view value) override {
    notes[std::string(key)] = value;
  }

 private:
  template <typename Seen>
  static const Seen& first_of(const std::vector<Seen>& rows, std::string_view name) {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const Seen& seen) { return seen.name == name; });
    if (found != rows.end()) return *found;
    ADD_FAILURE() << "nothing is named " << name;
    static const Seen kNone = {};
    return kNone;
  }
};

// A file with these bytes, and what an importer makes of it.
struct ImportedText {
  RecordingSink sink;
  Tally tally;
  Status status = ok_status();
};

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline ImportedText import_text(const Importer& importer, std::string_view bytes,
                                const std::string& file_name = "trace") {
  ImportedText result;
  const test::TemporaryDirectory directory;
  const std::string path = directory / file_name;
  write_bytes(path, bytes);
  Found found{&importer};
  result.status = read_into(found, path, result.sink, result.tally);
  return result;
}

}  // namespace sonde::importers
