// CallSamples: the sampled call stacks of a file, as tables that exporters write in their formats.
// Inlined functions are frames of their own, and stacks are a tree whose parents stand before their
// children. Every index is valid or kNone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "export/events/id_index.h"
#include "export/exporter.h"

namespace sonde::exporting {

struct SampleModule {
  std::string path, build_id;  // the id in hexadecimal
};

struct SampleFrame {
  std::string text;  // the function, or the address
  std::string file;
  int64_t line = 0;     // 0: not known
  int64_t address = 0;  // in its module
  uint32_t module = IdIndex::kNone;
  bool is_python = false;
};

struct SampleStack {
  uint32_t parent = IdIndex::kNone;
  uint32_t frame = 0;
};

struct CallSample {
  int64_t time_ns = 0;
  int64_t process_id = 0, pid = 0, tid = 0;
  int64_t cpu_ns = 0;
  int64_t blocked_ns = 0;  // of a thread that did not run
  uint32_t stack = 0;      // the innermost
};

struct CallSamples {
  std::vector<SampleModule> modules;
  std::vector<SampleFrame> frames;
  std::vector<SampleStack> stacks;
  std::vector<CallSample> samples;  // those in the window and of the rank of the options
};

Result<CallSamples> load_call_samples(store::Reader& reader, const Options& options);

}  // namespace sonde::exporting
