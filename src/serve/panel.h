// A panel of the page: one analysis of a trace, or of the part of it that is selected. Its bytes
// are those of the command: `sonde NAME TRACE --format json` (or svg) with the same options, so
// that the page and the command line cannot disagree.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace sonde::serve {

struct Source {
  std::string path;
  std::string as;  // name of an importer; "" = look at the file
};

// The options of the command without dashes, each once: "from", "gpu", "by". A flag is "yes".
// "format" is "json" where it is not given.
using PanelOptions = std::map<std::string, std::string>;

// Reads the trace again, and only the columns that the analysis needs. An error of the code
// kInvalidArgument is the asker's.
Result<std::string> panel_json(const Source& source, const std::string& analysis,
                               const PanelOptions& options);

// {"text": what its figures mean}, as --explain has it.
Result<std::string> definition_json(const std::string& analysis);

}  // namespace sonde::serve
