// A connection to the file of a trace. Private to src/serve.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/reader.h"

namespace sonde::serve {

// Opened when it is first needed. `mutex` is held while it is used.
struct Connection {
  std::string path;
  std::mutex mutex;
  std::optional<store::Reader> reader;

  Result<store::Reader*> get() {
    if (!reader) {
      SONDE_ASSIGN(store::Reader opened, store::Reader::open(path));
      reader.emplace(std::move(opened));
    }
    return &*reader;
  }
};

}  // namespace sonde::serve
