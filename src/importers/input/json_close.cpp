#include "importers/input/json_close.h"

namespace sonde::importers {

bool close_json(std::string& document) {
  std::string open, open_at_end;  // brackets that close what is open: now, and after `end`
  size_t end = 0;
  bool in_string = false;
  for (size_t i = 0; i < document.size(); ++i) {
    const char c = document[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else {
        in_string = c != '"';
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) return false;
      open.pop_back();
      end = i + 1;
      open_at_end = open;
      if (open.empty()) break;
    }
  }
  if (end == 0) return false;
  document.resize(end);
  document.append(open_at_end.rbegin(), open_at_end.rend());
  return true;
}

}  // namespace sonde::importers
