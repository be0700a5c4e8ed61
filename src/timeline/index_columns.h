// The columns of an index while it is built: in the file that it becomes, so that they are no
// memory of the process. Private to src/timeline.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/reader.h"
#include "timeline/index.h"
#include "timeline/index_format.h"
#include "timeline/index_rows.h"
#include "timeline/lane_choice.h"
#include "timeline/mapped_file.h"

namespace sonde::timeline {

class IndexColumns {
 public:
  // Makes room in the file for lanes of so many events, and for the rows.
  static Result<IndexColumns> create(int fd, const std::string& folder,
                                     const std::vector<size_t>& events, size_t ops, size_t apis);

  // Events of a lane come by start.
  void add(uint32_t lane, const Event& event);
  std::span<int64_t> op_ids() { return column<int64_t>(meta_.op_ids); }
  std::span<int64_t> api_ids() { return column<int64_t>(meta_.api_ids); }
  std::span<uint32_t> op_api() { return column<uint32_t>(meta_.op_api); }
  std::span<uint32_t> api_op() { return column<uint32_t>(meta_.api_op); }
  std::span<uint32_t> api_op_count() { return column<uint32_t>(meta_.api_op_count); }

  // Adds the indices of lanes, the tables and the head.
  Status finish(const FileKey& key, const std::vector<Track>& tracks, const Rows& rows);

 private:
  template <typename T>
  std::span<T> column(const Part& part) {
    return file_.as<T>(part.at, part.count);
  }
  std::string tables_of(const std::vector<Track>& tracks, const Rows& rows);

  int fd_ = -1;
  std::string folder_;
  MappedFile file_;
  Meta meta_;
  std::vector<StoredLane> lanes_;
  std::vector<size_t> filled_;                  // by lane
  std::vector<std::vector<Lane::Long>> longs_;  // by lane
};

// Which call launched which operation: op_api, api_op and api_op_count. The launching call of an
// operation is the first of those that the file links to it.
Status link_rows(store::Reader& reader, const Rows& rows, const std::string& folder,
                 IndexColumns& columns, Progress& progress);

}  // namespace sonde::timeline
