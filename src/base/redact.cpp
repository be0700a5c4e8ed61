#include "base/redact.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace sonde {

namespace {

constexpr std::string_view kHidden = "***";
constexpr std::string_view kWords[] = {
    "token",  "password",   "passwd",      "passphrase", "secret", "apikey", "auth",
    "cookie", "credential", "credentials", "pwd",        "pass",   "bearer", "authorization"};
// Ends of words run together: PGPASSWORD, MYAPIKEY. Not "pass": a COMPASS is no secret.
constexpr std::string_view kEndings[] = {"token",     "password", "passwd",     "passphrase",
                                         "secret",    "apikey",   "accesskey",  "secretkey",
                                         "authtoken", "sshpass",  "privatekey", "credentials"};

bool ends_secretly(std::string_view word) {
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view ending) {
    return word.size() >= ending.size() && word.substr(word.size() - ending.size()) == ending;
  });
}

// Hides the password in "scheme://user:password@host".
std::string redact_url(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return std::string(text);
  const size_t begin = scheme + 3;
  const size_t at = text.find('@', begin);
  const size_t colon = text.find(':', begin);
  const size_t slash = text.find('/', begin);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at || slash < at) {
    return std::string(text);
  }
  return std::string(text.substr(0, colon + 1)) + std::string(kHidden) +
         std::string(text.substr(at));
}

}  // namespace

bool names_a_secret(std::string_view name) {
  std::string word;
  std::vector<std::string> words;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.push_back(word);
  for (size_t i = 0; i < words.size(); ++i) {
    if (std::find(std::begin(kWords), std::end(kWords), words[i]) != std::end(kWords)) {
      // PWD and OLDPWD are the working directory.
      if (words[i] == "pwd" && words.size() == 1) continue;
      return true;
    }
    if (ends_secretly(words[i])) return true;
    // API_KEY, access-key, PRIVATE_KEY, SSH_KEY; but not KEYBOARD or MONKEY.
    if (words[i] == "key" && words.size() > 1) return true;
  }
  return false;
}

std::string redact_variable(std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return std::string(entry);
  const auto name = entry.substr(0, equals);
  const auto value = entry.substr(equals + 1);
  if (!value.empty() && names_a_secret(name)) {
    return std::string(name) + "=" + std::string(kHidden);
  }
  return std::string(name) + "=" + redact_url(value);
}

std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> redacted;
  bool hide_next = false;
  for (const auto& argument : arguments) {
    const bool option = argument.size() > 1 && argument[0] == '-';
    const size_t equals = argument.find('=');
    const size_t colon = argument.find(':');
    if (hide_next && argument.rfind("--", 0) != 0) {
      redacted.emplace_back(kHidden);
    } else if (colon < equals && names_a_secret(argument.substr(0, colon))) {
      redacted.push_back(argument.substr(0, colon) + ": " + std::string(kHidden));  // a header
    } else if (equals != std::string::npos) {
      redacted.push_back(redact_variable(argument));
    } else {
      redacted.push_back(redact_url(argument));
    }
    hide_next = option && equals == std::string::npos && names_a_secret(argument);
  }
  return redacted;
}

}  // namespace sonde
