#include "export/split.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/free_name.h"

namespace sonde::exporting {

namespace {

// The longest extension of the exporter that `path` ends with.
std::string extension_of(const Exporter& exporter, const std::string& path) {
  std::string longest;
  for (const std::string& extension : exporter.extensions) {
    const bool ends =
        path.size() > extension.size() &&
        path.compare(path.size() - extension.size(), extension.size(), extension) == 0;
    if (ends && extension.size() > longest.size()) longest = extension;
  }
  return longest;
}

class Splitter {
 public:
  Splitter(const Exporter& exporter, store::Reader& reader, const std::string& path,
           uint64_t most_bytes)
      : exporter_(exporter),
        reader_(reader),
        path_(path),
        extension_(extension_of(exporter, path)),
        most_bytes_(most_bytes) {}

  // Writes the window of `options`, in halves of [start_ns, end_ns) where it is too large.
  Status write(const Options& options, int64_t start_ns, int64_t end_ns) {
    Part part;
    part.path = part_name();
    SONDE_ASSIGN(part.counts, exporter_.write(reader_, part.path, options));
    std::error_code error;
    part.bytes = std::filesystem::file_size(part.path, error);
    const uint64_t events = part.counts.ops + part.counts.apis + part.counts.counters;
    if (part.bytes <= most_bytes_ || events <= 1 || end_ns - start_ns <= 1) {
      parts_.push_back(std::move(part));
      return ok_status();
    }
    ::unlink(part.path.c_str());
    const int64_t middle_ns = start_ns + (end_ns - start_ns) / 2;
    Options half = options;
    half.to_ns = middle_ns;
    SONDE_TRY(write(half, start_ns, middle_ns));
    half = options;
    half.from_ns = middle_ns;
    return write(half, middle_ns, end_ns);
  }

  // One part alone gets the name that was asked for.
  Result<std::vector<Part>> finish() {
    if (parts_.size() == 1) {
      if (std::rename(parts_[0].path.c_str(), path_.c_str()) != 0) {
        return errno_error("cannot rename to " + path_, parts_[0].path, errno);
      }
      parts_[0].path = path_;
    }
    return std::move(parts_);
  }

  void remove_all() {
    for (const Part& part : parts_) ::unlink(part.path.c_str());
  }

 private:
  std::string part_name() const {
    const std::string stem = path_.substr(0, path_.size() - extension_.size());
    return free_name(fmt::format("{}.part{}{}", stem, parts_.size() + 1, extension_), extension_);
  }

  const Exporter& exporter_;
  store::Reader& reader_;
  const std::string path_, extension_;
  const uint64_t most_bytes_;
  std::vector<Part> parts_;
};

}  // namespace

Result<std::vector<Part>> write_split(const Exporter& exporter, store::Reader& reader,
                                      const std::string& path, const Options& options,
                                      uint64_t most_bytes) {
  const std::string starts =
      "(t) FROM (SELECT min(start_ns) AS t FROM v_op UNION ALL SELECT "
      "max(start_ns) FROM v_op UNION ALL SELECT min(start_ns) FROM v_api "
      "UNION ALL SELECT max(start_ns) FROM v_api)";
  SONDE_ASSIGN(const int64_t first_ns, reader.database().integer("SELECT min" + starts));
  SONDE_ASSIGN(const int64_t last_ns, reader.database().integer("SELECT max" + starts));
  Splitter splitter(exporter, reader, path, most_bytes);
  Options by_start = options;
  by_start.by_start = true;
  if (const Status written = splitter.write(by_start, first_ns, last_ns + 1); !written) {
    splitter.remove_all();
    return written.error();
  }
  return splitter.finish();
}

}  // namespace sonde::exporting
