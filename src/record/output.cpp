#include "record/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/free_name.h"
#include "base/host_name.h"
#include "base/new_file.h"
#include "base/printable.h"
#include "record/names.h"
#include "record/parts.h"
#include "store/ingest/unfinished.h"
#include "store/input_file.h"

namespace sonde::record {

namespace {

namespace fs = std::filesystem;

void say(std::string_view line) { fmt::print(stderr, "sonde: {}\n", printable(line)); }

// The user cannot make the folder beforehand if its name has keys.
Status make_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty() && !fs::is_directory(folder, error)) fs::create_directories(folder, error);
  if (!error) return ok_status();
  return make_error(ErrorCode::kIo, "cannot make the folder: " + error.message(), folder.string());
}

Result<std::string> wanted_name(const Options& options, pid_t command) {
  std::error_code error;
  const auto rank = detect_rank(std::getenv);
  const std::string given = options.output.empty() ? "trace.rpd" : options.output;
  NameFacts facts{command, ::getppid(), host_name(), rank, options.command, std::time(nullptr)};
  FilledName filled = fill_name(given, facts, std::getenv);
  if (filled.name.empty()) filled.name = "trace.rpd";  // all its variables were unset
  if (filled.has_keys) SONDE_TRY(make_folder_of(filled.name));
  if (fs::is_directory(filled.name, error)) {
    filled.name = (fs::path(filled.name) / "trace.rpd").string();
  }
  SONDE_TRY(require_file_name(filled.name));
  return filled.has_rank ? filled.name : output_of(filled.name, rank);
}

}  // namespace

std::string name_in_job(const std::string& name, const std::vector<std::string>& command) {
  const auto rank = detect_rank(std::getenv);
  const NameFacts facts{::getpid(), ::getppid(), host_name(), rank, command, std::time(nullptr)};
  const FilledName filled = fill_name(name, facts, std::getenv);
  return filled.has_rank ? filled.name : output_of(filled.name, rank);
}

namespace {

// A name for which neither a file nor a part exists.
std::string free_base(const std::string& wanted) {
  std::string base = free_name(wanted);
  const fs::path path(wanted);
  for (int number = 2; !parts_of(base).empty(); ++number) {
    base = free_name((path.parent_path() / fmt::format("{}-{}{}", path.stem().string(), number,
                                                       path.extension().string()))
                         .string());
  }
  return base;
}

Error not_replaced(const std::string& path, const std::string& why) {
  return make_error(ErrorCode::kIo, why + ", so it is not overwritten", path,
                    "move it away, or choose another name with -o");
}

// True: `path` is free now. False: it is an unfinished recording.
Result<bool> make_way(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return true;
  if (!S_ISREG(status.st_mode)) return not_replaced(path, "it is not a regular file");
  if (status.st_size > 0) {
    char head[16] = {};
    std::ifstream file(path, std::ios::binary);
    file.read(head, sizeof head);
    if (!store::is_sqlite({head, sizeof head})) {
      return not_replaced(path, "it is not a trace");
    }
    // A trace that cannot be opened belongs to no recording.
    auto trace = store::Database::open(path, store::Database::Mode::kReadOnly);
    if (trace) {
      const auto session = store::unfinished_session(*trace);
      if (session && *session) return false;
    }
  }
  if (::unlink(path.c_str()) != 0) return errno_error("cannot be overwritten", path, errno);
  for (const char* beside : {"-journal", "-wal", "-shm"}) ::unlink((path + beside).c_str());
  return true;
}

// The first name to try: of the trace, or of the first part of a rotated one.
Result<std::string> first_name(const Options& options, pid_t command) {
  SONDE_ASSIGN(std::string wanted, wanted_name(options, command));
  if (options.rotation.every_ns == 0) return wanted;
  if (options.overwrite) {
    for (const std::string& part : parts_of(wanted)) SONDE_TRY(make_way(part));
    if (options.rotation.last_ns != 0) SONDE_TRY(make_way(wanted));
  }
  std::string base = free_base(wanted);
  if (base != wanted) say(fmt::format("{} exists; recording into {}", wanted, base));
  return part_name(base, 1);
}

}  // namespace

Result<Output> open_output(const Options& options, pid_t command) {
  std::error_code error;
  SONDE_ASSIGN(const std::string wanted, first_name(options, command));
  bool replaces = options.overwrite;
  // Other recorders may be looking for a name at the same time.
  for (int attempt = 0;; ++attempt) {
    const bool append = options.append && fs::exists(wanted, error);
    if (replaces) {
      SONDE_ASSIGN(replaces, make_way(wanted));
    }
    const std::string path = append || replaces ? wanted : free_name(wanted);
    auto writer = store::Writer::open(
        path, append ? store::Writer::Mode::kAppend : store::Writer::Mode::kCreate);
    const bool taken = !append && !writer && writer.error().code == ErrorCode::kInvalidArgument &&
                       fs::exists(path, error);
    if (taken && attempt < 1000) {
      replaces = false;  // another recorder has just taken it
      continue;
    }
    if (!writer) return std::move(writer).error();
    if (path != wanted) {
      say(fmt::format("{} exists; recording into {}", wanted, path));
    }
    SONDE_TRY(writer->keep_small());
    if (!options.name_file.empty()) {
      std::ofstream file(options.name_file, std::ios::trunc);
      file << path << std::flush;
      if (!file) return make_error(ErrorCode::kIo, "cannot be written", options.name_file);
    }
    return Output{std::move(*writer), path, !append};
  }
}

}  // namespace sonde::record
