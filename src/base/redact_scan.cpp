#include "base/redact_scan.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace sonde::redact {

namespace {

constexpr std::string_view kEndsOfValue = " \t\r\n,;&\"'`)]}>|";
constexpr std::string_view kEndsOfAuthority = " \t\r\n/?#\"'<>";
constexpr size_t kLongestAuthority = 4096;
constexpr size_t kLongUser = 16;  // user names are shorter, a token in place of one is not

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

bool is_quote(char c) { return c == '"' || c == '\''; }

size_t end_of_quoted(std::string_view text, size_t at, char quote) {
  for (; at < text.size() && text[at] != quote; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at, text.size());
}

struct Form {
  std::string_view prefix;
  size_t least;  // characters in total
};
constexpr Form kForms[] = {{"hf_", 20},         {"ghp_", 20},   {"gho_", 20},   {"ghu_", 20},
                           {"ghs_", 20},        {"ghr_", 20},   {"glpat-", 20}, {"sk-", 20},
                           {"github_pat_", 20}, {"xoxb-", 20},  {"xoxp-", 20},  {"AKIA", 20},
                           {"ASIA", 20},        {"nvapi-", 20}, {"AIza", 30}};

}  // namespace

Word next_word(std::string_view text, size_t at) {
  while (at < text.size() && !is_word(text[at])) ++at;
  Word word{at, at};
  while (word.end < text.size() && is_word(text[word.end])) ++word.end;
  return word;
}

Part value_after(std::string_view text, Word name) {
  size_t at = name.end;
  const Part none{at, at};
  const bool is_option = text.substr(name.begin, 2) == "--";
  // The closing quote of a name, which may itself be escaped: \"name\".
  if (at < text.size() && text[at] == '\\') ++at;
  const bool is_quoted = at < text.size() && is_quote(text[at]);
  if (is_quoted) ++at;
  const size_t next = skip_blanks(text, at);
  if (text.substr(next, 2) == "::") return none;  // a C++ name
  if (text.substr(next, 2) == "==") return none;  // a package and its version
  if (next < text.size() && (text[next] == '=' || text[next] == ':')) {
    at = skip_blanks(text, next + 1);
  } else if (is_option && next > at && text.substr(next, 2) != "--") {
    at = next;
  } else {
    return none;
  }
  const bool escaped = at + 1 < text.size() && text[at] == '\\' && is_quote(text[at + 1]);
  if (escaped) {
    const std::string_view mark = text.substr(at, 2);
    const size_t end = text.find(mark, at + 2);
    return {at + 2, std::min(end, text.size())};
  }
  if (at < text.size() && is_quote(text[at])) {
    return {at + 1, end_of_quoted(text, at + 1, text[at])};
  }
  if (is_quoted) return none;  // a JSON number or structure
  Part value{at, std::min(text.find_first_of(kEndsOfValue, at), text.size())};
  // "Authorization: Bearer x"
  const std::string_view scheme = text.substr(value.begin, value.end - value.begin);
  if (scheme == "Bearer" || scheme == "Basic" || scheme == "Token") {
    const size_t rest = skip_blanks(text, value.end);
    value.end = std::min(text.find_first_of(kEndsOfValue, rest), text.size());
  }
  return value;
}

std::optional<Part> secret_of_url(std::string_view text, Word word) {
  if (text.substr(word.end, 3) != "://") return std::nullopt;
  const size_t begin = word.end + 3;
  const std::string_view rest = text.substr(begin, kLongestAuthority);
  const std::string_view authority = rest.substr(0, rest.find_first_of(kEndsOfAuthority));
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return Part{begin, begin};
  const size_t colon = authority.find(':');
  if (colon < at) return Part{begin + colon + 1, begin + at};
  return at >= kLongUser ? Part{begin, begin + at} : Part{begin, begin};
}

bool has_form_of_token(std::string_view word) {
  // A JSON web token: three base64 parts, the first of which begins with {".
  if (word.substr(0, 3) == "eyJ" && std::count(word.begin(), word.end(), '.') >= 2) return true;
  return std::any_of(std::begin(kForms), std::end(kForms), [&](const Form& form) {
    return word.size() >= form.least && word.substr(0, form.prefix.size()) == form.prefix;
  });
}

}  // namespace sonde::redact
