#include "record/unannounced.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "monitor/kept_file.h"

namespace sonde::record {
namespace {

namespace fs = std::filesystem;

// The environment that it was started with, or forked from: "NAME=value\0NAME=value\0".
bool has_in_environment(const fs::path& process, const std::string& setting) {
  const std::string all = '\0' + monitor::read_text(process / "environ");
  return all.find('\0' + setting + '\0') != all.npos;
}

bool is_in_our_namespace(const fs::path& process) {
  std::error_code error;
  const fs::path theirs = fs::read_symlink(process / "ns/pid", error);
  return !error && theirs == fs::read_symlink("/proc/self/ns/pid", error) && !error;
}

}  // namespace

int note_unannounced(const std::string& session, const std::vector<Drain::Live>& known,
                     store::Ingest& ingest) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    uint32_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    const bool is_known = std::any_of(known.begin(), known.end(), [&](const Drain::Live& one) {
      return !one.other_namespace && one.pid == pid;
    });
    if (is_known || !has_in_environment(entry.path(), "SONDE_SESSION=" + session)) continue;
    if (is_in_our_namespace(entry.path())) ++count;
  }
  if (count != 0) {
    ingest.diagnostic(
        "record",
        fmt::format("{} of the program's processes, which had recorded nothing yet, still ran "
                    "when the recording ended; --wait all waits for them",
                    count));
  }
  return count;
}

}  // namespace sonde::record
