// BracketScan: which brackets of a JSON text are outside of strings, 64 bytes at a time. It finds
// where the elements of an array end, at several GB/s, so that a large document can be cut into
// windows at its element boundaries before it is parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sonde::importers {

class BracketScan {
 public:
  struct Block {
    uint64_t opens, closes;  // bit i: text[i] opens or closes an object or array
  };
  // The next 64 bytes.
  Block next(const char* text);

 private:
  uint64_t in_string_ = 0;  // all ones while the text is inside a string
  bool escaped_ = false;    // the next character follows a backslash
};

// Finds the ends of elements of an array that text is in, from the end of one element on.
class ElementScan {
 public:
  struct Found {
    size_t last_end = 0;   // end of the last whole element; 0 if there is none
    bool closed = false;   // the array ended
    size_t closed_at = 0;  // where its ] is
  };
  // Goes on with text that follows on the text before. `size` may be anything; less than a whole
  // block is looked at only if `last`, so `used` says how far it came.
  Found scan(const char* text, size_t size, bool last, size_t& used);

 private:
  BracketScan brackets_;
  int64_t depth_ = 0;  // 0 = between the elements
};

// Whether "NaN" or "Infinity" stands somewhere in the text, in a string or not.
bool has_word_for_no_number(std::string_view text);

}  // namespace sonde::importers
