#include "importers/input/json_windows.h"

#include <algorithm>
#include <cstring>

namespace sonde::importers {

namespace {

constexpr size_t kFront = 1;                     // room for the [ of a window
constexpr size_t kMaxFrame = size_t{64} << 20;   // of what stands around the events
constexpr size_t kMaxEvent = size_t{256} << 20;  // more is no event but broken JSON
constexpr size_t kGrowth = 64;                   // at least, of a window without a whole event
constexpr std::string_view kEventsKey = "traceEvents";

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

JsonWindows::JsonWindows(Source& source, size_t window_bytes)
    : source_(source), window_bytes_(window_bytes) {}

void JsonWindows::reserve(size_t bytes) {
  if (bytes <= capacity_) return;
  // Not make_unique: the memory need not be cleared.
  std::unique_ptr<char[]> larger(new char[kFront + bytes + JsonWindow::kPadding]);
  if (filled_ > 0) std::memcpy(larger.get() + kFront, memory_.get() + kFront, filled_);
  memory_ = std::move(larger);
  capacity_ = bytes;
}

Status JsonWindows::fill() {
  if (filled_ == capacity_) reserve(std::max(window_bytes_, filled_ + filled_ / 2 + kGrowth));
  while (filled_ < capacity_ && !at_end_) {
    SONDE_ASSIGN(const size_t got,
                 source_.read(memory_.get() + kFront + filled_, capacity_ - filled_));
    filled_ += got;
    at_end_ = got == 0;
  }
  return ok_status();
}

// In the frame: brackets count, and the key of an array at depth 1 tells whether it is the events.
void JsonWindows::frame_bracket(char c) {
  if (c == '{' || c == '[') {
    if (where_ == Where::kBefore) {
      where_ = Where::kFrame;
      bare_ = c == '[';
      if (bare_) frame_.clear();
    }
    const bool events = c == '[' && (bare_ || (depth_ == 1 && key_is_events_));
    key_is_events_ = false;
    if (events) {
      found_events_ = true;
      where_ = Where::kEvents;
      elements_ = ElementScan();
      return;
    }
    ++depth_;
  } else if (c == '}' || c == ']') {
    if (--depth_ <= 0) {
      where_ = Where::kAfter;
      complete_ = true;
    }
  }
}

void JsonWindows::frame_char(char c) {
  if (!bare_ && frame_.size() < kMaxFrame && where_ != Where::kAfter) frame_ += c;
  if (in_string_) {
    if (!escaped_ && c == '"') {
      in_string_ = false;
    } else if (depth_ == 1 && string_.size() <= kEventsKey.size()) {
      string_ += c;
    }
    escaped_ = !escaped_ && c == '\\';
    return;
  }
  if (c == '"') {
    in_string_ = true;
    string_.clear();
  } else if (c == ':') {
    key_is_events_ = depth_ == 1 && string_ == kEventsKey;
  } else if (c == '{' || c == '}' || c == '[' || c == ']') {
    frame_bracket(c);
  } else if (!is_blank(c)) {
    key_is_events_ = false;
  }
}

void JsonWindows::scan_frame() {
  const char* text = memory_.get() + kFront;
  while (scanned_ < filled_ && where_ != Where::kEvents) frame_char(text[scanned_++]);
  // What has been looked at is not needed any more.
  filled_ -= scanned_;
  base_ += scanned_;
  std::memmove(memory_.get() + kFront, text + scanned_, filled_);
  scanned_ = 0;
  last_end_ = 0;
}

// A window of the events before `end`; what comes after moves into memory of its own.
JsonWindow JsonWindows::cut(size_t end) {
  JsonWindow window;
  const char* text = memory_.get() + kFront;
  size_t begin = 0;
  while (begin < end && (is_blank(text[begin]) || text[begin] == ',')) ++begin;
  std::unique_ptr<char[]> memory = std::move(memory_);
  const size_t left = filled_ - end;
  capacity_ = 0;
  filled_ = 0;
  reserve(std::max(window_bytes_, left));
  std::memcpy(memory_.get() + kFront, memory.get() + kFront + end, left);
  filled_ = left;
  scanned_ -= end;
  last_end_ = 0;
  window.file_offset = base_ + begin;
  base_ += end;
  window.memory = std::move(memory);
  window.begin = begin;  // kFront leaves a byte before the first event
  window.memory[begin] = '[';
  window.memory[kFront + end] = ']';
  window.size = end - begin + 2;
  std::memset(window.memory.get() + kFront + end + 1, ' ', JsonWindow::kPadding - 1);
  return window;
}

Result<JsonWindow> JsonWindows::next() {
  for (;;) {
    SONDE_TRY(fill());
    if (where_ != Where::kEvents) {
      if (filled_ == 0) return JsonWindow{};
      scan_frame();
      continue;
    }
    size_t used = 0;
    const ElementScan::Found found =
        elements_.scan(memory_.get() + kFront + scanned_, filled_ - scanned_, at_end_, used);
    if (found.last_end > 0) last_end_ = scanned_ + found.last_end;
    scanned_ += used;
    if (found.closed) {
      scanned_ = (scanned_ - used) + found.closed_at;
      const size_t end = last_end_;
      JsonWindow window;
      if (end > 0) window = cut(end);
      // The rest belongs to the frame, from the closing bracket on.
      depth_ += 1;
      where_ = Where::kFrame;
      base_ += scanned_;
      filled_ -= scanned_;
      std::memmove(memory_.get() + kFront, memory_.get() + kFront + scanned_, filled_);
      scanned_ = 0;
      if (end > 0) return window;
      continue;
    }
    if (last_end_ > 0 && (filled_ == capacity_ || at_end_)) return cut(last_end_);
    if (at_end_) {
      const char* text = memory_.get() + kFront;
      size_t blank = 0;
      while (blank < filled_ && (is_blank(text[blank]) || text[blank] == ',')) ++blank;
      cut_event_bytes_ = filled_ - blank;
      complete_ = bare_ && cut_event_bytes_ == 0;
      base_ += filled_;
      filled_ = 0;
      where_ = Where::kAfter;
      return JsonWindow{};
    }
    if (filled_ > kMaxEvent) {
      gave_up_ = true;
      filled_ = 0;
      return JsonWindow{};
    }
  }
}

}  // namespace sonde::importers
