// The traces that are served: each is indexed in the background, and again when its file grows,
// while requests are still answered. An index of a large trace is kept in the user's cache folder.
// Private to src/serve, except for api.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "serve/connection.h"
#include "serve/counters.h"
#include "serve/layer.h"
#include "serve/panel.h"
#include "timeline/index.h"

namespace sonde::serve {

// What is made when it is first asked for, and kept.
struct Made {
  std::mutex making;
  std::map<std::string, std::shared_ptr<const Layer>> layers;
  std::shared_ptr<const Counters> counters;
  std::shared_ptr<const std::string> steps;

  Made() {
    for (const char* layer : kLayers) layers[layer];
  }
};

// One state of a trace, which does not change.
struct Opened {
  Source source;
  uint64_t version = 0;  // counts from 1
  timeline::Index index;
  std::vector<std::string> full_names, short_names;  // by name of the index
  std::shared_ptr<Connection> details, sql;
  bool counted = false;  // it has hardware counters of kernels
  std::map<std::pair<int64_t, int64_t>, std::string> threads;  // names of those, by pid and tid
  std::unique_ptr<Made> made = std::make_unique<Made>();

  uint64_t ops() const { return index.op_ids.size(); }
  uint64_t apis() const { return index.api_ids.size(); }
};

struct TraceState {
  std::string what;  // "reading calls"; also of a trace that is there already, and has grown
  double done = 0;
  uint64_t version = 0;  // 0: not there yet
  bool growing = false;
  std::string error;
};

struct TraceOptions {
  // Where indexes are kept; "" = nowhere.
  std::string cache_folder;
};
// $XDG_CACHE_HOME/sonde/serve, or the same in ~/.cache; "" without either.
std::string user_cache_folder();
// Where files without a name are made: $TMPDIR, /var/tmp or /tmp.
std::string temporary_folder();

class Traces {
 public:
  // Fails where a file cannot be read at all; reads them in the background.
  static Result<std::unique_ptr<Traces>> open(const std::vector<Source>& sources,
                                              const TraceOptions& options);
  virtual ~Traces() = default;

  virtual size_t size() const = 0;
  virtual const Source& source(size_t trace) const = 0;
  // Waits so long for a trace that is not there yet. nullptr: it is still being read, or cannot be.
  virtual std::shared_ptr<const Opened> opened(size_t trace, int64_t wait_ns) const = 0;
  // Also looks whether the file has changed, and reads it again if so.
  virtual TraceState state(size_t trace) = 0;
  virtual std::mutex& noting() = 0;  // held while notes are written
};

}  // namespace sonde::serve
