#include "record/sessions.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "record/session_dir.h"
#include "store/ingest/unfinished.h"
#include "store/input_file.h"
#include "wire/session.h"

namespace sonde::record {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "sonde-";

bool is_session(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path + "/control", error);
}

// Adds up the sizes in the folder, and finds the newest change.
void measure(const std::string& folder, Session& session) {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, error)) {
    struct stat info {};
    if (::lstat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    session.bytes += static_cast<uint64_t>(info.st_blocks) * 512;
    session.changed_s = std::max<int64_t>(session.changed_s, info.st_mtime);
  }
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path), error);
  return error ? path : whole.string();
}

// The session named in the unfinished trace; "" if there is none.
std::string session_in(const std::string& trace) {
  auto database = store::open_input(trace);
  if (!database) return {};
  const auto session = store::unfinished_session(*database);
  return session && *session ? **session : std::string();
}

}  // namespace

std::vector<std::string> session_places() {
  std::vector<std::string> places;
  for (const char* name : {"SONDE_SPOOL_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') places.emplace_back(value);
  }
  for (const char* usual : {"/tmp", "/var/tmp", "/dev/shm", "."}) places.emplace_back(usual);
  return places;
}

std::vector<Session> find_sessions(const std::vector<std::string>& places) {
  std::vector<Session> sessions;
  for (const std::string& place : places) {
    std::error_code error;
    for (const auto& entry :
         fs::directory_iterator(place, fs::directory_options::skip_permission_denied, error)) {
      const bool named = entry.path().filename().string().rfind(kPrefix, 0) == 0;
      if (!named || !is_session(entry.path().string())) continue;
      Session session;
      session.path = absolute(entry.path().string());
      const bool known = std::any_of(sessions.begin(), sessions.end(), [&](const Session& other) {
        return other.path == session.path;
      });
      if (known) continue;
      if (auto output = read_output_name(session.path)) session.output = *output;
      session.being_read = wire::is_being_read(session.path);
      measure(session.path, session);
      sessions.push_back(std::move(session));
    }
  }
  std::stable_sort(sessions.begin(), sessions.end(),
                   [](const auto& a, const auto& b) { return a.changed_s > b.changed_s; });
  return sessions;
}

Result<std::string> session_of(const std::string& path) {
  std::error_code error;
  if (is_session(path)) return path;
  if (fs::is_directory(path, error)) {
    return make_error(ErrorCode::kNotFound, "not a session directory of sonde record", path,
                      "it holds a file named control and folders p<PID>-...");
  }
  const std::string told = session_in(path);
  if (!told.empty() && is_session(told)) return told;
  auto places = session_places();
  places.push_back(fs::path(absolute(path)).parent_path().string());
  for (const Session& session : find_sessions(places)) {
    if (!session.output.empty() && absolute(session.output) == absolute(path)) return session.path;
  }
  if (!told.empty()) {
    return make_error(ErrorCode::kNotFound, "its session directory is not here any more: " + told,
                      path, "if it was moved, give its new path");
  }
  const bool exists = fs::exists(path, error);
  return make_error(
      ErrorCode::kNotFound,
      exists ? "there is no unfinished recording of it" : "no unfinished recording writes to it",
      path, "sonde recover alone lists what it finds; or give the session directory");
}

}  // namespace sonde::record
