#include "store/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/temporary_directory.h"
#include "base/unique_fd.h"
#include "base/unpack_limit.h"

namespace sonde::store {

namespace {

constexpr size_t kCopyBytes = 1 << 20;
constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);
constexpr size_t kHeaderBytes = 20;
constexpr size_t kWriteVersionOffset = 18;  // 2 = the file uses a write-ahead log
constexpr std::string_view kJournalMagic("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);

std::string trace_in(const TemporaryDirectory& directory) {
  return directory.path() + "/trace.rpd";
}

Status write_all(int fd, const char* data, size_t size, const std::string& path) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      auto error = errno_error("cannot unpack into the temporary directory", path, errno);
      error.hint = "set TMPDIR to a directory with room";
      return error;
    }
    data += written;
    size -= static_cast<size_t>(written);
  }
  return ok_status();
}

Result<UniqueFd> open_for(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno_error("cannot open the file", path, errno);
  return fd;
}

Status copy_file(const std::string& from, const std::string& to) {
  SONDE_ASSIGN(const UniqueFd input, open_for(from, O_RDONLY));
  SONDE_ASSIGN(const UniqueFd output, open_for(to, O_WRONLY | O_CREAT | O_EXCL));
  std::vector<char> buffer(kCopyBytes);
  for (;;) {
    const ssize_t got = ::read(input.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read the file", from, errno);
    if (got == 0) return ok_status();
    SONDE_TRY(write_all(output.get(), buffer.data(), static_cast<size_t>(got), from));
  }
}

Error not_sqlite(const std::string& path) {
  return make_error(ErrorCode::kBadData, "not an SQLite file", path,
                    "give an .rpd file, or a trace of another tool: sonde help import lists them");
}

struct GzipCloser {
  void operator()(gzFile_s* file) const { gzclose_r(file); }
};

Status unpack_gzip(const std::string& from, const std::string& to) {
  SONDE_ASSIGN(const UniqueFd output, open_for(to, O_WRONLY | O_CREAT | O_EXCL));
  const std::unique_ptr<gzFile_s, GzipCloser> input(gzopen(from.c_str(), "rbe"));
  if (input == nullptr) return errno_error("cannot open the file", from, errno);
  gzbuffer(input.get(), 256 * 1024);
  std::vector<char> buffer(kCopyBytes);
  const UnpackLimit limit(from);
  uint64_t unpacked = 0;
  for (bool first = true;; first = false) {
    const int got = gzread(input.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    int code = Z_OK;
    gzerror(input.get(), &code);
    if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) {
      return make_error(ErrorCode::kBadData, "the gzip file is damaged or cut off", from,
                        "copy it again");
    }
    if (got == 0 && !first) return ok_status();
    // Looked at before the rest is unpacked: this may be gigabytes of something else.
    const std::string_view start(buffer.data(), static_cast<size_t>(got));
    if (first && start.substr(0, kSqliteMagic.size()) != kSqliteMagic) {
      return make_error(ErrorCode::kBadData, "the gzip file does not hold an .rpd", from,
                        "give a gzip-compressed .rpd");
    }
    unpacked += start.size();
    SONDE_TRY(limit.check(static_cast<uint64_t>(gzoffset(input.get())), unpacked));
    SONDE_TRY(write_all(output.get(), buffer.data(), start.size(), from));
  }
}

bool has_bytes(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

// SQLite puts its side files beside what a symbolic link points to.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real == nullptr ? path : real.get();
}

// A journal that ends in the name of another file makes SQLite look at that file, and delete it.
// Only transactions over several databases write one, so none of ours.
Status refuse_linked_journal(const std::string& journal, const std::string& path) {
  SONDE_ASSIGN(const UniqueFd fd, open_for(journal, O_RDONLY));
  char tail[8] = {};
  const off_t size = ::lseek(fd.get(), 0, SEEK_END);
  if (size < 8 || ::pread(fd.get(), tail, 8, size - 8) != 8) return ok_status();
  if (std::string_view(tail, 8) != kJournalMagic) return ok_status();
  return make_error(ErrorCode::kUnsupported, "its journal belongs to several files", path,
                    "open it once with sqlite3, which finishes the interrupted transaction");
}

// Lets SQLite finish the interrupted transaction on a copy, since the original stays untouched.
Result<Database> open_copy(const std::string& path, const std::string& side_file_suffix) {
  SONDE_ASSIGN(const auto directory, TemporaryDirectory::create());
  const std::string original = resolved(path);
  SONDE_TRY(copy_file(original, trace_in(directory)));
  const std::string side_file = trace_in(directory) + side_file_suffix;
  SONDE_TRY(copy_file(original + side_file_suffix, side_file));
  if (side_file_suffix == "-journal") SONDE_TRY(refuse_linked_journal(side_file, path));
  {
    auto recovering = Database::open(trace_in(directory), Database::Mode::kReadWrite);
    if (recovering) {
      recovering->set_path(path);
      SONDE_TRY(recovering->exec("PRAGMA journal_mode=DELETE"));
    } else {
      Error error = recovering.error();
      error.context = path;
      return error;
    }
  }
  auto opened = Database::open(trace_in(directory), Database::Mode::kImmutable);
  if (opened) opened->set_path(path);
  return opened;
}

Result<Database> open_gzip(const std::string& path) {
  SONDE_ASSIGN(const auto directory, TemporaryDirectory::create());
  SONDE_TRY(unpack_gzip(path, trace_in(directory)));
  auto opened = Database::open(trace_in(directory), Database::Mode::kImmutable);
  if (!opened) {
    Error error = opened.error();
    error.context = path;
    return error;
  }
  opened->set_path(path);
  return opened;
}

Result<Database> open_with_log(const std::string& path) {
  const std::string original = resolved(path);
  // Without a log nothing can be missing, and opening it would leave files beside it.
  if (!has_bytes(original + "-wal")) return Database::open(path, Database::Mode::kImmutable);
  if (has_bytes(original + "-shm")) {
    auto opened = Database::open(path, Database::Mode::kReadOnly);
    if (opened) return opened;
  }
  return open_copy(path, "-wal");
}

}  // namespace

Result<Database> open_input(const std::string& path) {
  std::string header(kHeaderBytes, '\0');
  {
    SONDE_ASSIGN(const UniqueFd fd, open_for(path, O_RDONLY));
    struct stat info;
    if (::fstat(fd.get(), &info) != 0) return errno_error("cannot read the file", path, errno);
    if (!S_ISREG(info.st_mode)) {
      return make_error(ErrorCode::kBadData,
                        S_ISDIR(info.st_mode) ? "a directory, not a trace" : "not a regular file",
                        path, "give an .rpd file");
    }
    const ssize_t got = ::pread(fd.get(), header.data(), header.size(), 0);
    if (got < 0) return errno_error("cannot read the file", path, errno);
    if (got == 0) {
      return make_error(ErrorCode::kBadData, "the file is empty", path,
                        "nothing was recorded into it");
    }
    header.resize(static_cast<size_t>(got));
  }
  if (header.substr(0, 2) == "\x1f\x8b") return open_gzip(path);
  if (header.substr(0, kSqliteMagic.size()) != kSqliteMagic) return not_sqlite(path);
  if (header.size() == kHeaderBytes && header[kWriteVersionOffset] == 2) {
    return open_with_log(path);
  }
  auto opened = Database::open(path, Database::Mode::kReadOnly);
  // A journal that no writer holds has to be rolled back, which a reader may not.
  if (!opened && has_bytes(resolved(path) + "-journal") && opened.error().code == ErrorCode::kIo &&
      !is_busy(opened.error())) {
    return open_copy(path, "-journal");
  }
  return opened;
}

}  // namespace sonde::store
