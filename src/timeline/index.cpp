#include "timeline/index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "timeline/index_format.h"
#include "timeline/mapped_file.h"

namespace sonde::timeline {
namespace {

Error not_an_index(const std::string& path, const char* why) {
  return make_error(ErrorCode::kBadData, std::string("is not the index of this trace: ") + why,
                    path);
}

// Columns of a mapped file; an impossible one makes all of it invalid.
class Parts {
 public:
  explicit Parts(const MappedFile& file) : file_(file) {}
  template <typename T>
  std::span<const T> of(const Part& part) {
    const bool inside = part.at % 8 == 0 && part.at <= file_.size() &&
                        part.count <= (file_.size() - part.at) / sizeof(T);
    valid_ = valid_ && inside;
    if (!inside || part.count == 0) return {};
    return file_.as<const T>(part.at, part.count);
  }
  bool valid() const { return valid_; }
  void expect(bool condition) { valid_ = valid_ && condition; }

 private:
  const MappedFile& file_;
  bool valid_ = true;
};

Lane lane_of(const StoredLane& stored, Parts& parts) {
  const Lane::Columns columns = {
      parts.of<int64_t>(stored.start_ns), parts.of<uint32_t>(stored.duration_ns),
      parts.of<uint32_t>(stored.name),    parts.of<uint32_t>(stored.row),
      parts.of<Lane::Long>(stored.longs), parts.of<int64_t>(stored.sum_ns),
      parts.of<uint32_t>(stored.levels)};
  const size_t size = columns.start_ns.size();
  parts.expect(columns.duration_ns.size() == size && columns.name.size() == size &&
               columns.row.size() == size && columns.sum_ns.size() == blocks_of(size) &&
               columns.levels.size() == level_entries_of(size));
  return Lane(columns);
}

bool read_tables(Unpacker& tables, const MappedFile& file, Index& index) {
  Parts parts(file);
  const auto meta = tables.pod<Meta>();
  index.origin_ns = meta.origin_ns;
  index.timeline.span = {meta.start_ns, meta.end_ns};
  index.op_ids = parts.of<int64_t>(meta.op_ids);
  index.api_ids = parts.of<int64_t>(meta.api_ids);
  index.op_api = parts.of<uint32_t>(meta.op_api);
  index.api_op = parts.of<uint32_t>(meta.api_op);
  index.api_op_count = parts.of<uint32_t>(meta.api_op_count);
  parts.expect(index.op_api.size() == index.op_ids.size() &&
               index.api_op.size() == index.api_ids.size() &&
               index.api_op_count.size() == index.api_ids.size());
  for (uint64_t i = 0; i < meta.tracks && tables.is_whole(); ++i) {
    const auto stored = tables.pod<StoredTrack>();
    index.timeline.tracks.push_back({static_cast<Track::Kind>(stored.kind), stored.owner,
                                     stored.number, stored.first_lane, stored.lanes});
    parts.expect(stored.first_lane <= meta.lanes && stored.lanes <= meta.lanes - stored.first_lane);
  }
  for (uint64_t i = 0; i < meta.lanes && tables.is_whole(); ++i) {
    index.timeline.lanes.push_back(lane_of(tables.pod<StoredLane>(), parts));
  }
  for (uint64_t i = 0; i < meta.names && tables.is_whole(); ++i) {
    index.names.emplace_back(tables.text());
  }
  for (uint64_t i = 0; i < meta.devices && tables.is_whole(); ++i) {
    const auto gpu = tables.pod<int64_t>();
    index.devices.push_back({gpu, std::string(tables.text())});
  }
  for (uint64_t i = 0; i < meta.warnings && tables.is_whole(); ++i) {
    index.warnings.emplace_back(tables.text());
  }
  return tables.is_whole() && parts.valid();
}

}  // namespace

Result<FileKey> key_of(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) {
    return errno_error("cannot be read", path, errno);
  }
  const auto ns = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  FileKey key{status.st_dev,      status.st_ino,      static_cast<uint64_t>(status.st_size),
              ns(status.st_mtim), ns(status.st_ctim), 0};
  // Bytes 24 to 27 of an SQLite file count its changes.
  unsigned char count[4] = {};
  if (S_ISREG(status.st_mode) && ::pread(fd.get(), count, sizeof count, 24) == sizeof count) {
    for (const unsigned char byte : count) key.commits = key.commits << 8 | byte;
  }
  struct stat log {};
  if (::stat((path + "-wal").c_str(), &log) == 0) {
    key.commits = key.commits << 32 ^ static_cast<uint64_t>(log.st_size) ^
                  static_cast<uint64_t>(ns(log.st_mtim));
  }
  return key;
}

Result<Index> load_index(int fd, const std::string& path, const FileKey& key) {
  SONDE_ASSIGN(MappedFile mapped, MappedFile::map(fd, false, path));
  auto file = std::make_shared<const MappedFile>(std::move(mapped));
  Head head;
  if (file->size() < sizeof head) return not_an_index(path, "it is too short");
  std::memcpy(&head, file->bytes(), sizeof head);
  if (std::memcmp(head.magic, kIndexMagic, sizeof kIndexMagic) != 0 ||
      head.version != kIndexVersion || head.bytes_of_head != sizeof head) {
    return not_an_index(path, "it is of another version");
  }
  if (head.key != key) return not_an_index(path, "the trace has changed");
  if (head.file_bytes != file->size() || head.tables_at > file->size() ||
      head.tables_bytes > file->size() - head.tables_at) {
    return not_an_index(path, "it is not whole");
  }
  const std::string_view bytes(file->bytes() + head.tables_at, head.tables_bytes);
  Unpacker tables(bytes);
  Index index;
  index.bytes = file->size();
  if (hash_of(bytes) != head.tables_hash || !read_tables(tables, *file, index)) {
    return not_an_index(path, "it is damaged");
  }
  index.file = std::move(file);
  return index;
}

}  // namespace sonde::timeline
