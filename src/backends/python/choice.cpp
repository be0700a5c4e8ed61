#include "backends/python/choice.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

namespace sonde::python {

namespace {

enum class Which { kUser, kAll, kMatching };
Which g_which = Which::kUser;
bool g_excludes = false;  // g_expression excludes, from the user's code or from all code
regex_t g_expression;

constexpr const char* kFolders[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                    "/lib64/python3"};

bool is_of_a_library(const char* file) {
  for (const char* part : kFolders) {
    if (strstr(file, part) != nullptr) return true;
  }
  return file[0] == '<' && strcmp(file, "<string>") != 0 && strcmp(file, "<stdin>") != 0;
}

}  // namespace

bool choose(const char* which) {
  const bool all = strncmp(which, "all", 3) == 0, user = strncmp(which, "user", 4) == 0;
  const char* rest = which + (all ? 3 : user ? 4 : 0);
  g_excludes = *rest == '!';
  if (!g_excludes && *rest != '\0') rest = which;  // an expression that begins with such a word
  g_which = rest == which && !g_excludes ? Which::kMatching : all ? Which::kAll : Which::kUser;
  const char* expression = rest + (g_excludes ? 1 : 0);
  return *rest == '\0' || regcomp(&g_expression, expression, REG_EXTENDED | REG_NOSUB) == 0;
}

bool is_chosen(const char* file, const char* name) {
  if (strstr(file, "/lib/sonde/") != nullptr) return false;
  if (g_which == Which::kUser && is_of_a_library(file)) return false;
  if (g_which != Which::kMatching && !g_excludes) return true;
  char text[2048];
  snprintf(text, sizeof text, "%s: %s", file, name);
  return (regexec(&g_expression, text, 0, nullptr, 0) == 0) != g_excludes;
}

}  // namespace sonde::python
