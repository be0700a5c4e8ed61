// Where indexes of traces are kept from one server to the next. Private to src/serve.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "timeline/index.h"

namespace sonde::serve {

class IndexCache {
 public:
  // A folder that cannot be made or is not the user's own is not used.
  explicit IndexCache(const std::string& folder);

  // Where an index is best written, so that keep() only has to name it.
  const std::string& folder() const { return folder_; }
  // The index of a trace, if it is there and is that of the file as it is.
  Result<timeline::Index> find(const std::string& trace_path, const timeline::FileKey& key) const;
  // Keeps an index that was written to an unnamed file of folder(). What was not used for longest
  // goes when all of them become too many. A cache that is full or fails is only slower.
  void keep(int fd, const std::string& trace_path) const;

 private:
  std::string name_of(const std::string& trace_path) const;
  std::string folder_;  // "" = there is no cache
};

}  // namespace sonde::serve
