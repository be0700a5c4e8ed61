#include "serve/notes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "base/unique_fd.h"
#include "serve/ask.h"

namespace sonde::serve {
namespace {

constexpr size_t kMostNotes = 500;
constexpr size_t kMostText = 2000;      // bytes of one
constexpr size_t kMostBytes = 4 << 20;  // of the file: a larger one is not ours

struct Note {
  int64_t from_ns = 0, to_ns = 0;
  std::string text, track;
};

std::string path_of(const std::string& trace_path) { return trace_path + ".sonde-notes.json"; }

// "" if there is no file.
Result<std::string> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    if (errno == ENOENT) return std::string();
    return errno_error("cannot be read", path, errno);
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<size_t>(status.st_size) > kMostBytes) {
    return make_error(ErrorCode::kBadData, "is not a notes file", path);
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t count = ::read(fd.get(), bytes.data() + got, bytes.size() - got);
    if (count < 0) return errno_error("cannot be read", path, errno);
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  bytes.resize(got);
  return bytes;
}

// Tells lists apart; no protection.
std::string version_of(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

bool read_note(simdjson::dom::element from, Note& note) {
  std::string_view text, track;
  if (from["from_ns"].get(note.from_ns) != simdjson::SUCCESS ||
      from["to_ns"].get(note.to_ns) != simdjson::SUCCESS ||
      from["text"].get(text) != simdjson::SUCCESS) {
    return false;
  }
  if (from["track"].get(track) != simdjson::SUCCESS) track = {};
  note.text = text;
  note.track = track;
  return note.from_ns <= note.to_ns && !text.empty() && text.size() <= kMostText &&
         track.size() <= kMostText;
}

Result<std::vector<Note>> notes_of(simdjson::dom::element document, const std::string& on) {
  const Error error = wrong_ask(
      fmt::format("is not a list of at most {} notes with from_ns, to_ns and a text of 1 to {} "
                  "bytes",
                  kMostNotes, kMostText),
      on);
  simdjson::dom::array list;
  if (document["notes"].get(list) != simdjson::SUCCESS || list.size() > kMostNotes) return error;
  std::vector<Note> notes;
  for (const simdjson::dom::element each : list) {
    Note note;
    if (!read_note(each, note)) return error;
    notes.push_back(std::move(note));
  }
  return notes;
}

std::string list_json(const std::vector<Note>& notes) {
  std::string list;
  for (const Note& note : notes) {
    list += fmt::format("{}{{\"from_ns\": {}, \"to_ns\": {}, \"text\": {}, \"track\": {}}}",
                        list.empty() ? "" : ",\n", note.from_ns, note.to_ns, json_quote(note.text),
                        json_quote(note.track));
  }
  return "[" + list + "]";
}

std::string file_text(const std::vector<Note>& notes) {
  return notes.empty() ? std::string() : "{\"notes\": " + list_json(notes) + "}\n";
}

http::Answer answer_of(const std::vector<Note>& notes, const std::string& bytes,
                       const std::string& path) {
  return {200,
          kJson,
          fmt::format("{{\"version\": \"{}\", \"path\": {}, \"notes\": {}}}\n", version_of(bytes),
                      json_quote(path), list_json(notes)),
          {}};
}

// In one step, so that a reader meanwhile sees the one list or the other.
Status replace_file(const std::string& path, const std::string& bytes) {
  if (bytes.empty()) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return ok_status();
    return errno_error("cannot be removed", path, errno);
  }
  std::string made = path + ".XXXXXX";
  UniqueFd fd(::mkostemp(made.data(), O_CLOEXEC));
  if (!fd.valid()) return errno_error("notes cannot be written beside the trace", path, errno);
  (void)!::fchmod(fd.get(), 0644);  // like a trace: readers of the one can read the other
  const ssize_t wrote = ::write(fd.get(), bytes.data(), bytes.size());
  int code = wrote < 0 ? errno : ENOSPC;
  if (static_cast<size_t>(wrote) == bytes.size()) {
    code = ::fsync(fd.get()) == 0 && ::rename(made.c_str(), path.c_str()) == 0 ? 0 : errno;
  }
  if (code == 0) return ok_status();
  ::unlink(made.c_str());
  return errno_error("notes cannot be written", path, code);
}

Result<std::vector<Note>> parse(const std::string& bytes, const std::string& path) {
  if (bytes.empty()) return std::vector<Note>();
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(bytes).get(document) != simdjson::SUCCESS) {
    return make_error(ErrorCode::kBadData, "is not a notes file", path, "move it out of the way");
  }
  auto notes = notes_of(document, path);
  if (!notes) {
    return make_error(ErrorCode::kBadData, notes.error().message, path, "move it out of the way");
  }
  return notes;
}

}  // namespace

http::Answer read_notes(const std::string& trace_path) {
  const std::string path = path_of(trace_path);
  const auto bytes = read_file(path);
  if (!bytes) return refusal(bytes.error());
  const auto notes = parse(*bytes, path);
  return notes ? answer_of(*notes, *bytes, path) : refusal(notes.error());
}

http::Answer write_notes(const std::string& trace_path, const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  std::string_view version;
  if (parser.parse(body).get(document) != simdjson::SUCCESS ||
      document["version"].get(version) != simdjson::SUCCESS) {
    return refusal(wrong_ask("is not JSON with a version and notes", "body"));
  }
  const auto notes = notes_of(document, "body");
  if (!notes) return refusal(notes.error());
  const std::string path = path_of(trace_path);
  const auto known = read_file(path);
  if (!known) return refusal(known.error());
  const auto there = parse(*known, path);  // a file that is not ours is not overwritten
  if (!there) return refusal(there.error());
  if (version_of(*known) != version) {
    return {409, kJson, "{\"error\": \"the notes were changed meanwhile; read them again\"}\n", {}};
  }
  const std::string bytes = file_text(*notes);
  const Status written = replace_file(path, bytes);
  return written ? answer_of(*notes, bytes, path) : refusal(written.error());
}

}  // namespace sonde::serve
