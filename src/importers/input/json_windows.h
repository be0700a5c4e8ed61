// JsonWindows: cuts the large arrays of a JSON document, which may be larger than memory and than a
// parser takes (simdjson: 4 GiB), into windows of about a MiB that are JSON arrays of whole
// elements. What stands around them, the frame, is kept as a small JSON document of its own. Below,
// events are the elements: those of a Chrome trace, or records.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "importers/input/json_scan.h"
#include "importers/input/source.h"

namespace sonde::importers {

// "[{...}, {...}]", with room after it for a parser that reads ahead.
struct JsonWindow {
  static constexpr size_t kPadding = 64;

  std::unique_ptr<char[]> memory;
  size_t begin = 0, size = 0;  // of the array in `memory`
  uint64_t file_offset = 0;    // of its first event, in the unpacked file
  std::string path;            // keys of the array, "a//b": "" is an element of an array
  uint64_t part = 0;           // elements of an array that the document has, until this one's; or 0

  std::string_view text() const { return {memory.get() + begin, size}; }
};

// Whether an array is to be cut, by the keys on the way to it; "" is an element of an array.
using WantsArray = bool (*)(std::span<const std::string> keys);
// "traceEvents", or the document is the array.
bool are_trace_events(std::span<const std::string> keys);

class JsonWindows {
 public:
  explicit JsonWindows(Source& source, WantsArray wants = are_trace_events,
                       size_t window_bytes = size_t{1} << 20);

  // The next window; one with size 0 at the end of the file.
  Result<JsonWindow> next();

  // The document without its events, as far as it has been read; "" for a bare array.
  const std::string& frame() const { return frame_; }
  bool found_events() const { return found_events_; }
  // Bytes of an event that the end of the file cuts off; 0 if there is none.
  uint64_t cut_event_bytes() const { return cut_event_bytes_; }
  // The document is complete. A bare array may lack its end.
  bool complete() const { return complete_; }
  // An element that is too large to be an event; reading stopped there.
  bool gave_up() const { return gave_up_; }
  uint64_t offset() const { return base_ + filled_; }

 private:
  enum class Where { kBefore, kFrame, kEvents, kAfter };

  Status fill();
  void scan_frame();
  void frame_char(char c);
  void frame_bracket(char c);
  JsonWindow cut(size_t end);
  void reserve(size_t bytes);

  Source& source_;
  WantsArray wants_;
  size_t window_bytes_;
  // memory_[kFront, kFront + filled_) has been read and not been given out.
  std::unique_ptr<char[]> memory_;
  size_t capacity_ = 0, filled_ = 0, scanned_ = 0;
  uint64_t base_ = 0;  // offset in the file of the first byte of memory_
  bool at_end_ = false;

  Where where_ = Where::kBefore;
  ElementScan elements_;
  size_t last_end_ = 0;  // of the last whole event, in memory_
  std::string frame_;
  std::vector<std::string> open_;  // the key of each bracket that is open; the document has ""
  uint64_t too_deep_ = 0;          // brackets beyond those
  uint64_t part_ = 0;
  bool in_string_ = false, escaped_ = false, bare_ = false;
  std::string string_;  // the last one of the frame, or its beginning
  std::string key_;     // of the value that follows
  bool found_events_ = false, complete_ = false, gave_up_ = false;
  uint64_t cut_event_bytes_ = 0;
};

}  // namespace sonde::importers
