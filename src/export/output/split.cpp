#include "export/output/split.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/free_name.h"
#include "export/output/output_name.h"

namespace sonde::exporting {

namespace {

class Splitter {
 public:
  Splitter(const Exporter& exporter, store::Reader& reader, const std::string& path,
           uint64_t most_bytes)
      : exporter_(exporter),
        reader_(reader),
        path_(path),
        extension_(extension_of(path, exporter)),
        most_bytes_(most_bytes) {}

  // Writes the window of `options`, in halves where it is too large. The halves are of the time in
  // which something happens, or traces with long pauses would be written again and again.
  Status write(const Options& options, bool is_half = false) {
    Part part;
    part.path = part_name();
    SONDE_ASSIGN(part.counts, exporter_.write(reader_, part.path, options));
    std::error_code error;
    part.bytes = std::filesystem::file_size(part.path, error);
    const uint64_t events = part.counts.ops + part.counts.apis + part.counts.counters;
    if (is_half && events == 0) {  // those in it are of another rank or GPU
      ::unlink(part.path.c_str());
      return ok_status();
    }
    const bool whole = part.bytes <= most_bytes_ || events <= 1;
    SONDE_ASSIGN(const int64_t first_ns, whole ? 0 : start_in(options, "min"));
    SONDE_ASSIGN(const int64_t last_ns, whole ? 0 : start_in(options, "max"));
    if (last_ns <= first_ns) {
      parts_.push_back(std::move(part));
      return ok_status();
    }
    ::unlink(part.path.c_str());
    const int64_t middle_ns = first_ns + (last_ns - first_ns) / 2 + 1;
    Options half = options;
    half.to_ns = middle_ns;
    SONDE_TRY(write(half, true));
    half = options;
    half.from_ns = middle_ns;
    return write(half, true);
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
  // The first or last moment at which something begins in the window.
  Result<int64_t> start_in(const Options& options, const char* which) {
    const auto of = [&](const char* view) {
      return fmt::format("SELECT {}(start_ns) AS t FROM {} WHERE start_ns >= {} AND start_ns < {}",
                         which, view, options.from_ns, options.to_ns);
    };
    return reader_.database().integer(
        fmt::format("SELECT {}(t) FROM ({} UNION ALL {})", which, of("v_op"), of("v_api")));
  }
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
  Splitter splitter(exporter, reader, path, most_bytes);
  Options by_start = options;
  by_start.by_start = true;
  if (const Status written = splitter.write(by_start); !written) {
    splitter.remove_all();
    return written.error();
  }
  return splitter.finish();
}

}  // namespace sonde::exporting
