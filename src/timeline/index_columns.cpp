#include "timeline/index_columns.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "timeline/chunked_scan.h"

namespace sonde::timeline {
namespace {

// Lays columns out one after the other.
class Layout {
 public:
  template <typename T>
  Part part(size_t count) {
    const Part part{at_, count};
    at_ += (count * sizeof(T) + 7) / 8 * 8;
    return part;
  }
  size_t end() const { return at_; }

 private:
  size_t at_ = (sizeof(Head) + 7) / 8 * 8;
};

template <typename T>
Part appended(Appender& out, size_t begin, std::span<const T> values) {
  out.align();
  const Part part{begin + out.written(), values.size()};
  out.append(values);
  return part;
}

// Row by the id in the file, in a table if the ids are dense, else sorted.
class RowOfId {
 public:
  static Result<RowOfId> make(std::span<const int64_t> ids, const std::string& folder) {
    RowOfId rows;
    if (ids.empty()) return rows;
    const auto [least, greatest] = std::minmax_element(ids.begin(), ids.end());
    rows.first_ = *least;
    const auto wide = static_cast<uint64_t>(*greatest) - static_cast<uint64_t>(*least) + 1;
    rows.dense_ = wide != 0 && wide / 4 <= ids.size();
    SONDE_ASSIGN(const UniqueFd fd, unnamed_file(folder));
    const size_t bytes = rows.dense_ ? wide * sizeof(uint32_t) : ids.size() * sizeof(Pair);
    if (const int code = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes)); code != 0) {
      return errno_error("no room for the index", folder, code);
    }
    SONDE_ASSIGN(rows.file_, MappedFile::map(fd.get(), true, folder));
    if (rows.dense_) {
      const auto table = rows.file_.as<uint32_t>(0, wide);
      std::fill(table.begin(), table.end(), kNoRow);
      for (uint32_t row = 0; row < ids.size(); ++row) {
        table[static_cast<uint64_t>(ids[row] - rows.first_)] = row;
      }
      return rows;
    }
    const auto pairs = rows.file_.as<Pair>(0, ids.size());
    for (uint32_t row = 0; row < ids.size(); ++row) pairs[row] = {ids[row], row, 0};
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.id < b.id; });
    return rows;
  }

  uint32_t row(int64_t id) const {
    if (dense_) {
      const auto table = file_.as<uint32_t>(0, file_.size() / sizeof(uint32_t));
      const auto place = static_cast<uint64_t>(id) - static_cast<uint64_t>(first_);
      return place < table.size() ? table[place] : kNoRow;
    }
    const auto pairs = file_.as<Pair>(0, file_.size() / sizeof(Pair));
    const auto found =
        std::lower_bound(pairs.begin(), pairs.end(), id,
                         [](const Pair& each, int64_t wanted) { return each.id < wanted; });
    return found == pairs.end() || found->id != id ? kNoRow : found->row;
  }

 private:
  struct Pair {
    int64_t id = 0;
    uint32_t row = 0, zero = 0;
  };
  MappedFile file_;
  int64_t first_ = 0;
  bool dense_ = false;
};

}  // namespace

Result<IndexColumns> IndexColumns::create(int fd, const std::string& folder,
                                          const std::vector<size_t>& events, size_t ops,
                                          size_t apis) {
  IndexColumns columns;
  columns.fd_ = fd;
  columns.folder_ = folder;
  Layout layout;
  columns.meta_.op_ids = layout.part<int64_t>(ops);
  columns.meta_.api_ids = layout.part<int64_t>(apis);
  columns.meta_.op_api = layout.part<uint32_t>(ops);
  columns.meta_.api_op = layout.part<uint32_t>(apis);
  columns.meta_.api_op_count = layout.part<uint32_t>(apis);
  for (const size_t count : events) {
    columns.lanes_.push_back({layout.part<int64_t>(count),
                              layout.part<uint32_t>(count),
                              layout.part<uint32_t>(count),
                              layout.part<uint32_t>(count),
                              {},
                              {},
                              {}});
  }
  columns.filled_.assign(events.size(), 0);
  columns.longs_.resize(events.size());
  // Room on the disk first: a full one would end the process when a page is written.
  if (const int code = ::posix_fallocate(fd, 0, static_cast<off_t>(layout.end())); code != 0) {
    return errno_error("no room for the index", folder, code);
  }
  SONDE_ASSIGN(columns.file_, MappedFile::map(fd, true, folder));
  return columns;
}

void IndexColumns::add(uint32_t lane, const Event& event) {
  const size_t i = filled_[lane]++;
  const StoredLane& stored = lanes_[lane];
  const int64_t length_ns = event.end_ns - event.start_ns;
  const bool is_long = length_ns >= int64_t{Lane::kLong};
  if (is_long) longs_[lane].push_back({i, length_ns});
  column<int64_t>(stored.start_ns)[i] = event.start_ns;
  column<uint32_t>(stored.duration_ns)[i] =
      is_long ? Lane::kLong : static_cast<uint32_t>(length_ns);
  column<uint32_t>(stored.name)[i] = event.name;
  column<uint32_t>(stored.row)[i] = event.row;
}

Status IndexColumns::finish(const FileKey& key, const std::vector<Track>& tracks,
                            const Rows& rows) {
  const size_t begin = file_.size();
  if (::lseek(fd_, static_cast<off_t>(begin), SEEK_SET) < 0) {
    return errno_error("cannot be written", folder_, errno);
  }
  Appender out(fd_, folder_);
  bool first = true;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    StoredLane& stored = lanes_[i];
    Lane lane({column<const int64_t>(stored.start_ns),
               column<const uint32_t>(stored.duration_ns),
               column<const uint32_t>(stored.name),
               column<const uint32_t>(stored.row),
               longs_[i],
               {},
               {}});
    lane.finish();
    stored.longs = appended<Lane::Long>(out, begin, longs_[i]);
    stored.sum_ns = appended(out, begin, lane.columns().sum_ns);
    stored.levels = appended(out, begin, lane.columns().levels);
    if (lane.size() == 0) continue;
    const int64_t start_ns = lane.event(0).start_ns, end_ns = lane.end_ns(lane.size() - 1);
    meta_.start_ns = first ? start_ns : std::min(meta_.start_ns, start_ns);
    meta_.end_ns = first ? end_ns : std::max(meta_.end_ns, end_ns);
    first = false;
  }
  const std::string tables = tables_of(tracks, rows);
  Head head;
  std::copy(std::begin(kIndexMagic), std::end(kIndexMagic), head.magic);
  head.version = kIndexVersion;
  head.bytes_of_head = sizeof head;
  head.key = key;
  head.tables_at = begin + out.written();
  head.tables_bytes = tables.size();
  head.tables_hash = hash_of(tables);
  out.append(tables.data(), tables.size());
  SONDE_TRY(out.finish());
  head.file_bytes = begin + out.written();
  std::memcpy(file_.bytes(), &head, sizeof head);
  return ok_status();
}

std::string IndexColumns::tables_of(const std::vector<Track>& tracks, const Rows& rows) {
  meta_.origin_ns = rows.origin_ns;
  meta_.tracks = tracks.size();
  meta_.lanes = lanes_.size();
  meta_.names = rows.names.size();
  meta_.devices = rows.devices.size();
  meta_.warnings = rows.warnings.size();
  std::string tables;
  put_pod(tables, meta_);
  for (const Track& track : tracks) {
    put_pod(tables, StoredTrack{track.owner, track.number, static_cast<uint32_t>(track.kind),
                                track.first_lane, track.lanes, 0});
  }
  for (const StoredLane& lane : lanes_) put_pod(tables, lane);
  for (const std::string& name : rows.names) put_text(tables, name);
  for (const trace::Device& device : rows.devices) {
    put_pod(tables, device.gpu);
    put_text(tables, device.name);
  }
  for (const std::string& warning : rows.warnings) put_text(tables, warning);
  return tables;
}

Status link_rows(store::Reader& reader, const Rows& rows, const std::string& folder,
                 IndexColumns& columns, Progress& progress) {
  const auto op_api = columns.op_api(), api_op = columns.api_op(), count = columns.api_op_count();
  std::fill(op_api.begin(), op_api.end(), kNoRow);
  std::fill(api_op.begin(), api_op.end(), kNoRow);
  std::fill(count.begin(), count.end(), 0);
  const auto api_ids = columns.api_ids();
  SONDE_ASSIGN(const RowOfId op_of, RowOfId::make(columns.op_ids(), folder));
  SONDE_ASSIGN(const RowOfId api_of, RowOfId::make(api_ids, folder));
  // As v_api_op has it, which does not show the key.
  SONDE_TRY(scan_in_chunks(reader.database(), "rowid", "op_id, api_id", "rocpd_api_ops", progress,
                           0.9, 0.95, [&](const store::Row& link) {
                             const uint32_t op = op_of.row(link.integer(0));
                             const uint32_t api = api_of.row(link.integer(1));
                             if (op == kNoRow || api == kNoRow) return;
                             const uint32_t known = op_api[op];
                             if (known == kNoRow || api_ids[api] < api_ids[known]) op_api[op] = api;
                           }));
  for (uint32_t op = 0; op < op_api.size(); ++op) {
    const uint32_t api = op_api[op];
    if (api == kNoRow) continue;
    if (count[api]++ == 0) api_op[api] = op;
  }
  return rows.op_count() == op_api.size()
             ? ok_status()
             : make_error(ErrorCode::kInternal, "rows are missing", reader.path());
}

}  // namespace sonde::timeline
