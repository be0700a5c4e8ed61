#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/demangle.h"
#include "base/strings.h"
#include "report/layout.h"

namespace sonde::report {
namespace {

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// The source names of a mangled name whose types the demangler does not know (_Float16 and other
// late additions): "_ZN2ns3fooIDF16_EEv" -> "ns::foo".
std::string source_name(std::string_view mangled) {
  size_t i = 2;
  const bool nested = i < mangled.size() && mangled[i] == 'N';
  if (nested) ++i;
  std::string name;
  while (i < mangled.size() && std::isdigit(static_cast<unsigned char>(mangled[i])) != 0) {
    size_t length = 0;
    while (i < mangled.size() && std::isdigit(static_cast<unsigned char>(mangled[i])) != 0) {
      length = length * 10 + static_cast<size_t>(mangled[i++] - '0');
      if (length > mangled.size()) return {};
    }
    if (length == 0 || i + length > mangled.size()) return {};
    const std::string_view part = mangled.substr(i, length);
    i += length;
    if (!part.starts_with("_GLOBAL__N")) {
      if (!name.empty()) name += "::";
      name += part;
    }
    if (!nested) break;
  }
  return name;
}

// Skips "operator<<", "operator()" and their like, whose brackets are not brackets. Returns the end
// of the operator's name, or `i` when there is none at i.
size_t skip_operator(std::string_view text, size_t i) {
  constexpr std::string_view kWord = "operator";
  if (text.substr(i, kWord.size()) != kWord) return i;
  if (i > 0 && is_identifier(text[i - 1])) return i;
  size_t end = i + kWord.size();
  if (end < text.size() && is_identifier(text[end])) return i;
  if (text.substr(end, 2) == "()" || text.substr(end, 2) == "[]") return end + 2;
  while (end < text.size() &&
         std::string_view("<>=!+-*/%&|^~,").find(text[end]) != std::string_view::npos) {
    ++end;
  }
  return end;
}

// Index after the bracket that closes the one at `open`. '<' counts only outside parentheses, where
// a comparison cannot stand bare. npos if it is never closed.
size_t closing(std::string_view text, size_t open) {
  std::string stack;
  for (size_t i = open; i < text.size();) {
    if (const size_t end = skip_operator(text, i); end != i) {
      i = end;
      continue;
    }
    const char c = text[i];
    const bool in_angles = stack.empty() || stack.back() == '<';
    if (c == '(' || c == '{' || c == '[') {
      stack += c;
    } else if (c == ')' || c == '}' || c == ']') {
      const char opener = c == ')' ? '(' : c == '}' ? '{' : '[';
      while (!stack.empty() && stack.back() == '<' && opener != '<') stack.pop_back();
      if (stack.empty() || stack.back() != opener) return std::string_view::npos;
      stack.pop_back();
    } else if (c == '<' && (i == open || text[i - 1] != ' ')) {
      stack += '<';
    } else if (c == '>' && in_angles && i > 0 && text[i - 1] != '-' && !stack.empty()) {
      stack.pop_back();
    }
    ++i;
    if (stack.empty()) return i;
  }
  return std::string_view::npos;
}

// "{lambda(float)#1}" -> "{lambda#1}"
std::string short_braces(std::string_view braces) {
  const size_t hash = braces.rfind('#');
  if (braces.starts_with("{lambda") && hash != std::string_view::npos) {
    return "{lambda" + std::string(braces.substr(hash));
  }
  return std::string(braces);
}

// The inside of template arguments with each argument shortened in turn.
std::string short_arguments(std::string_view inside, size_t depth) {
  std::string out;
  size_t begin = 0;
  for (size_t i = 0; i <= inside.size();) {
    if (i == inside.size() || inside[i] == ',') {
      std::string_view argument = inside.substr(begin, i - begin);
      while (!argument.empty() && argument.front() == ' ') argument.remove_prefix(1);
      while (!argument.empty() && argument.back() == ' ') argument.remove_suffix(1);
      if (!out.empty()) out += ", ";
      out += short_name(argument, depth);
      begin = ++i;
      continue;
    }
    const char c = inside[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      const size_t end = closing(inside, i);
      if (end == std::string_view::npos) return std::string(inside);
      i = end;
    } else {
      ++i;
    }
  }
  return out;
}

// "torch/nn/modules/module.py(1501): _call_impl", as torch names frames of Python: the brackets are
// a line's, and what follows them is the function.
bool is_python_frame(std::string_view name) {
  for (size_t open = name.find('('); open != name.npos; open = name.find('(', open + 1)) {
    const size_t end = name.find_first_not_of("0123456789", open + 1);
    if (end != name.npos && end > open + 1 && name.substr(end, 3) == "): ") return true;
  }
  return false;
}

}  // namespace

std::string short_name(std::string_view name, size_t depth) {
  if (is_python_frame(name)) return std::string(name);
  std::string out;
  size_t last_space = std::string::npos;  // in out: what stands before it is the return type
  bool in_operator = false;
  for (size_t i = 0; i < name.size();) {
    if (const size_t end = skip_operator(name, i); end != i) {
      out += name.substr(i, end - i);
      in_operator = true;  // "operator bool": the space belongs to the name
      i = name.substr(end, 2) == " <" ? end + 1 : end;  // "operator< <int>"
      continue;
    }
    const char c = name[i];
    const bool after_name = !out.empty() && (is_identifier(out.back()) || out.back() == '}' ||
                                             out.back() == '>' || in_operator);
    if (c == '<' && after_name) {
      const size_t end = closing(name, i);
      if (end == std::string_view::npos) return std::string(name);
      if (depth > 0) {
        out += fmt::format("<{}>", short_arguments(name.substr(i + 1, end - i - 2), depth - 1));
      }
      i = end;
    } else if (c == '(') {
      const size_t end = closing(name, i);
      if (end == std::string_view::npos) return std::string(name);
      if (!after_name && name.substr(i, end - i) != "(anonymous namespace)") {
        return std::string(name);  // not a function's parameters: "(float)1", "batch (3)"
      }
      i = end;
      if (!after_name && name.substr(i, 2) == "::") i += 2;
      if (after_name && name.substr(i, 6) == " const") i += 6;
      if (after_name && name.substr(i, 1) == "#") return std::string(name);  // a loader's range
      if (after_name && name.substr(i, 2) != "::") break;  // only " [clone ...]" can follow
    } else if (c == '{') {
      const size_t end = closing(name, i);
      if (end == std::string_view::npos) return std::string(name);
      out += short_braces(name.substr(i, end - i));
      i = end;
    } else {
      if (c == ' ' && !in_operator) last_space = out.size();
      if (c == ':') in_operator = false;
      out += c;
      ++i;
    }
  }
  const bool cut_something = out.size() < name.size();
  if (last_space != std::string::npos && cut_something && last_space + 1 < out.size() &&
      name.find('(') != std::string_view::npos) {
    out.erase(0, last_space + 1);
  }
  while (!out.empty() && (out.front() == '*' || out.front() == '&')) out.erase(0, 1);
  return out.empty() ? std::string(name) : out;
}

std::vector<std::string> demangled_names(std::span<const std::string> names) {
  std::vector<std::string> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back(demangle(name));
  return out;
}

namespace {

constexpr size_t kLongest = 70;  // a name with its arguments back must stay readable

std::vector<std::string> identifiers_of(std::string_view name) {
  std::vector<std::string> found;
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && is_identifier(name[end])) ++end;
    const std::string_view word = name.substr(i, end - i);
    if (!word.empty() && word != "anonymous" && word != "namespace") found.emplace_back(word);
    i = end + 1;
  }
  return found;
}

using Identifiers = std::map<std::string, std::vector<std::string>>;  // by name

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_number(const std::string& word) {
  return std::isdigit(static_cast<unsigned char>(word[0])) != 0;
}

// The identifiers, two at most, that distinguish a name from all others of its group: the one that
// fewest others have, then the same among those. Empty if two are not enough.
std::vector<std::string> distinctive(const std::string& name, const Identifiers& group) {
  std::vector<std::string> chosen;
  std::vector<const std::vector<std::string>*> others;
  for (const auto& [other, words] : group) {
    if (other != name) others.push_back(&words);
  }
  while (!others.empty() && chosen.size() < 2) {
    std::string best;
    size_t best_count = others.size();
    for (const std::string& word : group.at(name)) {
      const auto count = static_cast<size_t>(std::count_if(
          others.begin(), others.end(), [&](const auto* words) { return contains(*words, word); }));
      const bool better_kind = !best.empty() && is_number(best) && !is_number(word);
      if (count > best_count || (count == best_count && !better_kind)) continue;
      best = word;
      best_count = count;
    }
    if (best.empty()) return {};
    std::erase_if(others, [&](const auto* words) { return !contains(*words, best); });
    chosen.push_back(std::move(best));
  }
  return others.empty() ? chosen : std::vector<std::string>();
}

// "k<..AbsFunctor..>": the identifiers that matter, where whole arguments are too long.
void tell_apart_by_words(const std::string& alike, const std::set<std::string>& group,
                         std::map<std::string, std::string>& short_of) {
  constexpr size_t kLargestGroup = 60;  // the comparison below is of each with each
  Identifiers identifiers;
  for (const std::string& name : group) identifiers[name] = identifiers_of(demangle(name));
  std::set<std::string> taken;
  size_t number = 0;
  for (const std::string& name : group) {
    std::string text = alike + "<..";
    const bool few = group.size() <= kLargestGroup;
    const auto words = few ? distinctive(name, identifiers) : std::vector<std::string>();
    for (const std::string& word : words) text += word + "..";
    text += '>';
    if (words.empty() || text.size() > 2 * kLongest || !taken.insert(text).second) {
      text = fmt::format("{} #{}", alike, ++number);
    }
    short_of[name] = text;
  }
}

// Shortens the different names of one group that look alike at depth 0.
void tell_apart(const std::string& alike, const std::set<std::string>& group,
                std::map<std::string, std::string>& short_of) {
  const auto is_too_long = [](const std::string& text) { return text.size() > kLongest; };
  for (size_t depth = 1; depth <= 4; ++depth) {
    std::set<std::string> seen;
    for (const std::string& name : group) seen.insert(short_name(demangle(name), depth));
    if (std::any_of(seen.begin(), seen.end(), is_too_long)) break;
    if (seen.size() != group.size()) continue;
    for (const std::string& name : group) short_of[name] = short_name(demangle(name), depth);
    return;
  }
  tell_apart_by_words(alike, group, short_of);
}

std::string shortest(const std::string& name) {
  const std::string whole = demangle(name);
  if (whole.starts_with("_Z")) {
    const std::string source = source_name(whole);
    return source.empty() ? whole : source;
  }
  const bool cpp = whole != name || whole.find("::") != std::string::npos ||
                   whole.find('<') != std::string::npos || whole.find('(') != std::string::npos;
  return cpp ? short_name(whole) : whole;
}

}  // namespace

std::vector<std::string> short_names(std::span<const std::string> names) {
  std::map<std::string, std::set<std::string>> alike;
  for (const std::string& name : names) alike[shortest(name)].insert(name);
  std::map<std::string, std::string> short_of;
  for (const auto& [text, group] : alike) {
    if (group.size() == 1) {
      short_of[*group.begin()] = text;
    } else {
      tell_apart(text, group, short_of);
    }
  }
  std::vector<std::string> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back(short_of[name]);
  return out;
}

namespace {

// Cuts inside the template arguments, where names of one family differ least in what matters to a
// reader; only where even none of them fit, the name as a whole.
std::string cut_name(const std::string& name, size_t width) {
  if (display_width(name) <= width) return name;
  for (size_t i = 1; i < name.size(); ++i) {
    if (name[i] != '<' || !is_identifier(name[i - 1])) continue;
    const size_t end = closing(name, i);
    if (end == std::string::npos) break;
    constexpr size_t kLeastInside = 8;  // less than this says nothing
    const std::string before = name.substr(0, i + 1), after = name.substr(end - 1);
    const size_t outside = display_width(before) + display_width(after);
    if (outside + kLeastInside > width) break;
    return before + ellipsize(name.substr(i + 1, end - i - 2), width - outside) + after;
  }
  return ellipsize(name, width);
}

}  // namespace

std::vector<std::string> cut_names(std::span<const std::string> names, size_t width) {
  std::map<std::string, std::vector<std::string>> alike;  // different names, in order of appearance
  for (const std::string& name : names) {
    auto& group = alike[cut_name(name, width)];
    if (std::find(group.begin(), group.end(), name) == group.end()) group.push_back(name);
  }
  std::vector<std::string> out;
  out.reserve(names.size());
  for (const std::string& name : names) {
    std::string text = cut_name(name, width);
    const auto& group = alike[text];
    if (group.size() > 1) {
      const auto number = std::find(group.begin(), group.end(), name) - group.begin() + 1;
      const std::string suffix = fmt::format(" #{}", number);
      text = cut_name(name, width > suffix.size() ? width - suffix.size() : 1) + suffix;
    }
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace sonde::report
