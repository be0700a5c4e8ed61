#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/letters.h"
#include "trace/category.h"

namespace sonde::trace {

extern const char* const kCommunicationText;  // communication.txt

namespace {

// The built-in words and those that the user adds.
CommunicationWords all_words() {
  CommunicationWords words;
  words.add(kCommunicationText);
  if (const char* path = std::getenv("SONDE_COMMUNICATION"); path != nullptr && *path != '\0') {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    words.add(text.str());
  }
  return words;
}

}  // namespace

std::string own_name(std::string_view kernel) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  std::string own;
  int depth = 0;  // of template arguments
  for (size_t i = 0; i < kernel.size(); ++i) {
    const char c = kernel[i];
    if (depth == 0 && kernel.substr(i, kUnnamed.size()) == kUnnamed) {
      i += kUnnamed.size() - 1;
    } else if (c == '<') {
      ++depth;
    } else if (c == '>') {
      depth = std::max(0, depth - 1);
    } else if (depth == 0 && (c == '(' || c == '=')) {
      break;  // parameters, or the operands of an operation of XLA
    } else if (depth == 0 && is_alphanumeric(c)) {
      own += lower(c);
    }
  }
  return own;
}

std::vector<std::string> CommunicationWords::add(std::string_view text) {
  std::vector<std::string> bad;
  std::istringstream rows{std::string(text)};
  for (std::string row; std::getline(rows, row);) {
    std::istringstream fields(row);
    std::string where, word, more;
    if (!(fields >> where) || where.front() == '#') continue;
    fields >> word;
    const bool is_known = where == "anywhere" || where == "own" || where == "not";
    if (!is_known || word.empty() || fields >> more) {
      bad.push_back(row);
    } else if (where == "anywhere") {
      words_.push_back({Where::kAnywhere, lower(word)});
    } else {
      words_.push_back({where == "own" ? Where::kOwn : Where::kNot, own_name(word)});
    }
  }
  std::stable_sort(words_.begin(), words_.end(),
                   [](const Word& a, const Word& b) { return a.text.size() > b.text.size(); });
  return bad;
}

bool CommunicationWords::match(std::string_view kernel) const {
  const std::string whole = lower(kernel);
  const std::string own = own_name(kernel);
  for (const Word& word : words_) {
    const std::string& name = word.where == Where::kAnywhere ? whole : own;
    if (name.find(word.text) != name.npos) return word.where != Where::kNot;
  }
  return false;
}

bool is_communication(std::string_view kernel) {
  static const CommunicationWords kWords = all_words();
  return kWords.match(kernel);
}

}  // namespace sonde::trace
