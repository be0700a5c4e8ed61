#include "cli/finding_names.h"

#include <algorithm>

#include "analysis/findings/findings.h"
#include "base/strings.h"

namespace sonde::cli {

Result<std::vector<std::string>> chosen_findings(const std::string& text, const char* option) {
  const std::vector<std::string> known = analysis::finding_ids();
  std::vector<std::string> chosen;
  for (const std::string_view part : split(text, ',')) {
    const std::string id(trim(part));
    if (id == "any") {
      chosen = known;
      continue;
    }
    if (std::find(known.begin(), known.end(), id) == known.end()) {
      std::string names = "any";
      for (const std::string& name : known) names += ", " + name;
      return make_error(ErrorCode::kInvalidArgument, "no finding is called '" + id + "'", option,
                        "there are: " + names);
    }
    chosen.push_back(id);
  }
  return chosen;
}

}  // namespace sonde::cli
