#include "backends/python/choice.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

namespace sonde::python {

namespace {

enum class Which { kUser, kAll, kMatching };
Which g_which = Which::kUser;
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
  g_which = strcmp(which, "user") == 0  ? Which::kUser
            : strcmp(which, "all") == 0 ? Which::kAll
                                        : Which::kMatching;
  return g_which != Which::kMatching ||
         regcomp(&g_expression, which, REG_EXTENDED | REG_NOSUB) == 0;
}

bool is_chosen(const char* file, const char* name) {
  if (strstr(file, "/lib/sonde/") != nullptr) return false;
  if (g_which == Which::kAll) return true;
  if (g_which == Which::kUser) return !is_of_a_library(file);
  char text[2048];
  snprintf(text, sizeof text, "%s: %s", file, name);
  return regexec(&g_expression, text, 0, nullptr, 0) == 0;
}

}  // namespace sonde::python
