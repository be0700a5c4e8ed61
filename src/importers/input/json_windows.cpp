#include "importers/input/json_windows.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sonde::importers {

namespace {

constexpr size_t kFront = 1;                     // room for the [ of a window
constexpr size_t kMaxFrame = size_t{64} << 20;   // of what stands around the events
constexpr size_t kMaxEvent = size_t{256} << 20;  // more is not an event but broken JSON
constexpr size_t kGrowth = 64;                   // at least, of a window without a whole event
constexpr size_t kMostKey = 64;                  // bytes; no array that is wanted has a longer one
constexpr size_t kMostOpen = 64;                 // brackets; none that is wanted is deeper

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

bool are_trace_events(std::span<const std::string> keys) {
  return keys.empty() || (keys.size() == 1 && keys[0] == "traceEvents");
}

JsonWindows::JsonWindows(Source& source, WantsArray wants, size_t window_bytes)
    : source_(source), wants_(wants), window_bytes_(window_bytes) {}

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

// In the frame: brackets count, and the keys around an array show whether it is wanted.
void JsonWindows::frame_bracket(char c) {
  if (c == '}' || c == ']') {
    if (too_deep_ > 0) {
      --too_deep_;
      return;
    }
    if (!open_.empty()) open_.pop_back();
    if (open_.empty()) {
      where_ = Where::kAfter;
      complete_ = true;
    }
    return;
  }
  if (open_.size() == kMostOpen) {
    ++too_deep_;
    return;
  }
  if (open_.size() == 1) part_ = 0;
  if (open_.size() == 2 && key_.empty()) ++part_;
  open_.push_back(std::exchange(key_, {}));
  const bool is_wanted = c == '[' && wants_(std::span<const std::string>(open_).subspan(1));
  if (where_ == Where::kBefore) {
    where_ = Where::kFrame;
    bare_ = is_wanted;
    if (bare_) frame_.clear();
  }
  if (!is_wanted) return;
  found_events_ = true;
  where_ = Where::kEvents;
  elements_ = ElementScan();
}

void JsonWindows::frame_char(char c) {
  if (!bare_ && frame_.size() < kMaxFrame && where_ != Where::kAfter) frame_ += c;
  if (in_string_) {
    if (!escaped_ && c == '"') {
      in_string_ = false;
    } else if (string_.size() <= kMostKey) {
      string_ += c;
    }
    escaped_ = !escaped_ && c == '\\';
    return;
  }
  if (c == '"') {
    in_string_ = true;
    string_.clear();
  } else if (c == ':') {
    key_ = string_;
  } else if (c == '{' || c == '}' || c == '[' || c == ']') {
    frame_bracket(c);
  } else if (!is_blank(c)) {
    key_.clear();
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
  for (size_t i = 1; i < open_.size(); ++i) window.path += (i == 1 ? "" : "/") + open_[i];
  window.part = part_;
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
