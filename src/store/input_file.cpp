#include "store/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "base/temporary_directory.h"
#include "base/unique_fd.h"
#include "base/unpack_limit.h"
#include "store/unpack.h"

namespace sonde::store {

namespace {

constexpr size_t kCopyBytes = 1 << 20;
constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);
constexpr size_t kHeaderBytes = 20;
constexpr size_t kWriteVersionOffset = 18;  // 2 = the file uses a write-ahead log
constexpr std::string_view kJournalMagic("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);

// A copy, under the name of the file that the user knows.
Result<Database> open_as(const std::string& path, const std::string& copy, Database::Mode mode) {
  auto opened = Database::open(copy, mode);
  if (!opened) {
    Error error = std::move(opened).error();
    error.context = path;
    return error;
  }
  opened->set_path(path);
  return opened;
}

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

Result<std::string_view> read_piece(int fd, std::vector<char>& room, const std::string& path) {
  for (;;) {
    const ssize_t got = ::read(fd, room.data(), room.size());
    if (got >= 0) return std::string_view(room.data(), static_cast<size_t>(got));
    if (errno != EINTR) return errno_error("cannot read the file", path, errno);
  }
}

Status copy_file(const std::string& from, const std::string& to) {
  SONDE_ASSIGN(const UniqueFd input, open_for(from, O_RDONLY));
  SONDE_ASSIGN(const UniqueFd output, open_for(to, O_WRONLY | O_CREAT | O_EXCL));
  std::vector<char> buffer(kCopyBytes);
  for (;;) {
    SONDE_ASSIGN(const std::string_view piece, read_piece(input.get(), buffer, from));
    if (piece.empty()) return ok_status();
    SONDE_TRY(write_all(output.get(), piece.data(), piece.size(), from));
  }
}

Error not_sqlite(const std::string& path) {
  return make_error(ErrorCode::kBadData, "not an SQLite file", path,
                    "give an .rpd file, or a trace of another tool: sonde help import lists them");
}

// In a loop of its own, not by gzread(), which since zlib 1.3.2 does not report a missing checksum
// at the end.
Status unpack_gzip(const std::string& from, const std::string& to) {
  SONDE_ASSIGN(const UniqueFd input, open_for(from, O_RDONLY));
  SONDE_ASSIGN(const UniqueFd output, open_for(to, O_WRONLY | O_CREAT | O_EXCL));
  const auto damaged =
      make_error(ErrorCode::kBadData, "the gzip file is damaged or cut off", from, "copy it again");
  std::vector<char> packed(kCopyBytes), plain(kCopyBytes);
  SONDE_ASSIGN(std::string_view left, read_piece(input.get(), packed, from));
  const auto unpacker = Unpacker::for_stream(left);
  if (unpacker == nullptr) return damaged;
  const UnpackLimit limit(from);
  uint64_t taken = left.size(), made = 0;
  for (bool at_end = false;;) {
    const size_t before = left.size();
    const size_t some = unpacker->unpack(left, plain.data(), plain.size());
    const bool stuck = some == 0 && left.size() == before;
    if (!unpacker->error().empty() || (stuck && (before != 0 || at_end) && !unpacker->complete())) {
      return damaged;
    }
    // Looked at before the rest is unpacked: this may be gigabytes of something else.
    const std::string_view start(plain.data(), some);
    const bool is_over = stuck && at_end;
    if (made == 0 && (some != 0 || is_over) &&
        start.substr(0, kSqliteMagic.size()) != kSqliteMagic) {
      return make_error(ErrorCode::kBadData, "the gzip file does not hold an .rpd", from,
                        "give a gzip-compressed .rpd");
    }
    if (is_over) return ok_status();
    made += some;
    SONDE_TRY(limit.check(taken, made));
    SONDE_TRY(write_all(output.get(), start.data(), start.size(), from));
    if (!left.empty() || at_end) continue;
    SONDE_ASSIGN(left, read_piece(input.get(), packed, from));
    taken += left.size();
    at_end = left.empty();
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
    SONDE_ASSIGN(auto recovering, open_as(path, trace_in(directory), Database::Mode::kReadWrite));
    SONDE_TRY(recovering.exec("PRAGMA journal_mode=DELETE"));
  }
  return open_as(path, trace_in(directory), Database::Mode::kImmutable);
}

Result<Database> open_gzip(const std::string& path) {
  SONDE_ASSIGN(const auto directory, TemporaryDirectory::create());
  SONDE_TRY(unpack_gzip(path, trace_in(directory)));
  return open_as(path, trace_in(directory), Database::Mode::kImmutable);
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
