// The way from another tool's file to a Trace without an .rpd in between. The trace is the same as
// that of the .rpd that `sonde import` would make of the file.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "importers/importer.h"
#include "trace/trace.h"
#include "trace/window.h"

namespace sonde::trace {

// Any file that the tool can read: `as` names the importer, "" sniffs. The window goes by the text,
// and request.window is not looked at.
Result<Trace> load_file(const std::string& path, const std::string& as, const Request& request,
                        const WindowText& window);

// Files of one question, such as the ranks of a job: --from and --to mean the same moments in all
// of them, and count from the earliest start (load_files.cpp). Where the files have no common
// clock, or no moment in common, they count from the start of each, and a warning says so. --window
// is the part of each file that it names.
Result<std::vector<Trace>> load_files(std::span<const std::string> paths, const std::string& as,
                                      const Request& request, const WindowText& window);

struct Columns;

// A file that is not cut to a window yet, so that the window may go by other files, too. That of
// another tool has been read by now: once, so that it may be a pipe.
class OpenedFile {
 public:
  // What a window needs to know is looked for if there is one. The request is used until load().
  static Result<OpenedFile> open(importers::Found found, const std::string& path,
                                 const Request& request, const WindowText& window);
  OpenedFile(OpenedFile&&) noexcept;
  ~OpenedFile();

  const std::optional<Interval>& span() const { return span_; }  // nothing: it is empty
  Result<Window> window(const WindowText& text) const;           // of this file alone
  Result<Trace> load(const Window& window);                      // once

 private:
  explicit OpenedFile(const Request& request);
  Status read(importers::Found& found, const std::string& path, const WindowText& window);
  Status look_at(const WindowText& window);

  const Request* request_;
  std::unique_ptr<Columns> columns_;     // of another tool's file,
  std::optional<store::Reader> reader_;  // or of an .rpd
  std::optional<Interval> span_, part_;  // part_: what --window names
};

}  // namespace sonde::trace
