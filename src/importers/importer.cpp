#include "importers/importer.h"

#include <sys/stat.h>

namespace sonde::importers {

Result<const Importer*> find_importer(const std::string& path, const std::string& as) {
  const Importer* best = nullptr;
  if (as == "rpd") return best;
  for (const Importer* importer : all_importers()) {
    if (!as.empty() && importer->name == as) return importer;
  }
  if (!as.empty()) {
    std::string names = "rpd";
    for (const Importer* importer : all_importers()) names += ", " + importer->name;
    return make_error(ErrorCode::kInvalidArgument, "'" + as + "' is no kind of trace", "--as",
                      "one of " + names);
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return best;
  const auto source = Source::open(path);
  if (!source) return best;
  Sure surest = Sure::kNo;
  for (const Importer* importer : all_importers()) {
    const Sure sure = importer->sniff({path, source->head()});
    if (sure > surest) {
      surest = sure;
      best = importer;
    }
  }
  return best;
}

}  // namespace sonde::importers
