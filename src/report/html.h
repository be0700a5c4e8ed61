// Pieces of a page, for the HTML renderer and for pages that are more than one report.
#pragma once

#include <string>
#include <string_view>

#include "report/render.h"

namespace sonde::report {

// For text and for attributes in quotes, of HTML and of SVG; without what XML does not allow or
// what would turn the order of letters around (base/printable.h).
std::string html_escaped(std::string_view text);
std::string html_section(const Section& section, const RenderOptions& options);
extern const char* const kHtmlStyle;  // the inside of <style>

}  // namespace sonde::report
