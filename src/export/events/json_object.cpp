#include "export/events/json_object.h"

#include "base/strings.h"

namespace sonde::exporting {

namespace {

constexpr int kDeepest = 64;

// Walks over a text that may be anything; every step says whether it was JSON.
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  void blanks() {
    while (!at_end() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool string();
  bool value(int depth);
  bool object(int depth, std::vector<JsonMember>* members);

 private:
  bool array(int depth);
  bool number();
  bool word(std::string_view word);
  bool digits();

  std::string_view text_;
  size_t at_ = 0;
};

bool Scan::string() {
  if (!take('"')) return false;
  while (!at_end()) {
    const char c = text_[at_++];
    if (c == '"') return true;
    if (static_cast<unsigned char>(c) < ' ') return false;
    if (c != '\\') continue;
    if (at_end()) return false;
    const char escape = text_[at_++];
    if (escape != 'u') {
      if (std::string_view("\"\\/bfnrt").find(escape) == std::string_view::npos) return false;
      continue;
    }
    for (int i = 0; i < 4; ++i) {
      if (at_end()) return false;
      const char digit = text_[at_++];
      if (std::string_view("0123456789abcdefABCDEF").find(digit) == std::string_view::npos) {
        return false;
      }
    }
  }
  return false;
}

bool Scan::digits() {
  const size_t begin = at_;
  while (!at_end() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
  return at_ > begin;
}

bool Scan::number() {
  take('-');
  if (!take('0') && !digits()) return false;
  if (take('.') && !digits()) return false;
  if (take('e') || take('E')) {
    if (!take('+')) take('-');
    return digits();
  }
  return true;
}

bool Scan::word(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

bool Scan::array(int depth) {
  take('[');
  blanks();
  if (take(']')) return true;
  do {
    if (!value(depth + 1)) return false;
    blanks();
  } while (take(','));
  return take(']');
}

bool Scan::object(int depth, std::vector<JsonMember>* members) {
  if (!take('{')) return false;
  blanks();
  if (take('}')) return true;
  do {
    blanks();
    const size_t key = at_;
    if (!string()) return false;
    const size_t key_end = at_;
    blanks();
    if (!take(':')) return false;
    blanks();
    const size_t begin = at_;
    if (!value(depth + 1)) return false;
    if (members != nullptr) {
      members->push_back(
          {text_.substr(key + 1, key_end - key - 2), text_.substr(begin, at_ - begin)});
    }
    blanks();
  } while (take(','));
  return take('}');
}

bool Scan::value(int depth) {
  blanks();
  if (at_end() || depth > kDeepest) return false;
  switch (text_[at_]) {
    case '{':
      return object(depth, nullptr);
    case '[':
      return array(depth);
    case '"':
      return string();
    case 't':
      return word("true");
    case 'f':
      return word("false");
    case 'n':
      return word("null");
    default:
      return number();
  }
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

bool is_text(std::string_view text) { return is_ascii(text) || valid_utf8(text) == text; }

}  // namespace

bool json_members(std::string_view text, std::vector<JsonMember>& members) {
  members.clear();
  Scan scan(text);
  scan.blanks();
  if (!scan.object(0, &members)) return false;
  scan.blanks();
  return scan.at_end() && is_text(text);
}

bool is_json(std::string_view text) {
  Scan scan(text);
  if (!scan.value(0)) return false;
  scan.blanks();
  return scan.at_end() && is_text(text);
}

}  // namespace sonde::exporting
