// The index of a trace: its timeline, with names and the rows of the file, as one file that is
// mapped. So a server holds a trace of any size in little memory of its own, and a trace that was
// opened before is there at once. build_index.h makes it; its key says whether it belongs to a
// trace; one that does not, or is damaged, is ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "timeline/timeline.h"
#include "trace/trace.h"

namespace sonde::timeline {

class MappedFile;

// What changes when a file does.
struct FileKey {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  uint64_t commits = 0;  // SQLite's own count, and what its journals hold
  friend bool operator==(const FileKey&, const FileKey&) = default;
};
Result<FileKey> key_of(const std::string& path);

struct Index {
  Timeline timeline;  // rows of queues count operations by time, those of threads calls
  std::vector<std::string> names;
  std::vector<trace::Device> devices;
  std::vector<std::string> warnings;
  int64_t origin_ns = 0;  // what --from counts from
  // By row:
  std::span<const int64_t> op_ids, api_ids;        // rocpd_op.id, rocpd_api.id
  std::span<const uint32_t> op_api;                // the launching call; kNoRow
  std::span<const uint32_t> api_op, api_op_count;  // the first operation of a call, and how many

  std::shared_ptr<const MappedFile> file;  // that all this lies in
  uint64_t bytes = 0;
};

// Maps an index; fails where it is not one of this version and of this key.
Result<Index> load_index(int fd, const std::string& path, const FileKey& key);

}  // namespace sonde::timeline
