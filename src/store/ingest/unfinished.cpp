#include "store/ingest/unfinished.h"

#include <fmt/format.h>

#include <filesystem>

#include "wire/session.h"

namespace sonde::store {

Result<std::optional<std::string>> unfinished_session(Database& database) {
  SONDE_ASSIGN(const bool there, database.has_table("sonde_ingest"));
  if (!there) return std::optional<std::string>();
  SONDE_ASSIGN(auto rows, database.prepare(
                              "SELECT value FROM sonde_ingest ORDER BY key <> 'session' LIMIT 1"));
  SONDE_ASSIGN(const bool found, rows.step());
  if (!found) return std::optional<std::string>();
  const std::string value(rows.text(0));  // "ID PATH"
  const size_t space = value.find(' ');
  return std::optional(space != std::string::npos ? value.substr(space + 1) : std::string());
}

Result<bool> is_unfinished_of(Database& database, uint64_t session_id) {
  SONDE_ASSIGN(const bool there, database.has_table("sonde_ingest"));
  if (!there) return false;
  SONDE_ASSIGN(const std::string owner,
               database.text("SELECT value FROM sonde_ingest WHERE key = 'session'"));
  return owner.starts_with(fmt::format("{:x} ", session_id));
}

std::string unfinished_text(const std::string& path, const std::string& session) {
  const std::string some =
      "the recording is not finished: these are the events that have arrived so far ";
  std::error_code error;
  if (session.empty() || !std::filesystem::exists(session + "/control", error)) {
    return some + "(the session directory with the others is gone: " + session + ")";
  }
  if (wire::is_being_read(session)) return some + "(it still runs)";
  return some + "(sonde recover " + path + " finishes it)";
}

}  // namespace sonde::store
