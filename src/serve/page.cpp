#include "serve/page.h"

#include <string>

// The bytes of a file, as the assembler finds it: g++ 12 has no #embed.
#define SONDE_EMBED(name, file)                                                    \
  __asm__(                                                                         \
      ".pushsection .rodata\n"                                                     \
      ".hidden sonde_page_" #name                                                  \
      "\n"                                                                         \
      ".hidden sonde_page_" #name                                                  \
      "_end\n"                                                                     \
      ".globl sonde_page_" #name                                                   \
      "\n"                                                                         \
      ".globl sonde_page_" #name                                                   \
      "_end\n"                                                                     \
      "sonde_page_" #name                                                          \
      ":\n"                                                                        \
      ".incbin \"" SONDE_PAGE_FOLDER "/" file                                      \
      "\"\n"                                                                       \
      "sonde_page_" #name                                                          \
      "_end:\n"                                                                    \
      ".byte 0\n"                                                                  \
      ".popsection\n");                                                            \
  extern "C" __attribute__((visibility("hidden"))) const char sonde_page_##name[], \
      sonde_page_##name##_end[]

SONDE_EMBED(html, "index.html");
SONDE_EMBED(js, "app.js");
SONDE_EMBED(css, "app.css");
SONDE_EMBED(licenses, "LICENSES.txt");

namespace sonde::serve {
namespace {

struct File {
  std::string_view path;
  const char* type;
  const char *begin, *end;
};

constexpr const char* kText = "text/plain; charset=utf-8";
const File kFiles[] = {
    {"/", "text/html; charset=utf-8", sonde_page_html, sonde_page_html_end},
    {"/app.js", "text/javascript; charset=utf-8", sonde_page_js, sonde_page_js_end},
    {"/app.css", "text/css; charset=utf-8", sonde_page_css, sonde_page_css_end},
    {"/LICENSES.txt", kText, sonde_page_licenses, sonde_page_licenses_end},
};

}  // namespace

std::optional<http::Answer> page_file(const http::Request& request) {
  for (const File& file : kFiles) {
    if (file.path != request.path) continue;
    if (request.method != "GET") return http::Answer{400, kText, "is only to be read\n", {}};
    return http::Answer{200, file.type, std::string(file.begin, file.end), {}};
  }
  return {};
}

}  // namespace sonde::serve
