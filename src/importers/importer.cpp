#include "importers/importer.h"

#include <sys/stat.h>
#include <unistd.h>

#include "store/input_file.h"

namespace sonde::importers {

namespace {

Result<const Importer*> importer_of_name(const std::string& as) {
  std::string names = "rpd";
  for (const Importer& importer : all_importers()) {
    if (importer.name == as) return &importer;
    names += ", " + importer.name;
  }
  return make_error(ErrorCode::kInvalidArgument, "'" + as + "' is not a trace format", "--as",
                    "one of " + names);
}

bool is_regular(const std::string& path) {
  struct stat info {};
  const int looked = path == "-" ? ::fstat(STDIN_FILENO, &info) : ::stat(path.c_str(), &info);
  return looked != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);  // opening it says more
}

const Importer* surest_importer(const std::string& path, std::string_view head) {
  const Importer* best = nullptr;
  Sure surest = Sure::kNo;
  for (const Importer& importer : all_importers()) {
    const Sure sure = importer.sniff({path, head});
    if (sure <= surest) continue;
    surest = sure;
    best = &importer;
  }
  return best;
}

}  // namespace

Error unknown_kind(const Source& source) {
  if (source.head().empty()) {
    if (!source.broken().empty()) {
      return make_error(ErrorCode::kBadData, "it cannot be unpacked", source.path(),
                        source.broken());
    }
    return make_error(ErrorCode::kBadData, "the file is empty", source.path(),
                      "nothing was recorded into it");
  }
  std::string names;
  for (const Importer& importer : all_importers()) names += " " + importer.name;
  return make_error(ErrorCode::kBadData, "not a trace in a format that can be imported",
                    source.path(), "if it is one, --as names its format:" + names);
}

Result<Found> find_importer(const std::string& path, const std::string& as) {
  const bool regular = path != "-" && is_regular(path);
  Found found;
  if (!as.empty() && as != "rpd") {
    SONDE_ASSIGN(found.importer, importer_of_name(as));
    if (regular) return found;
  } else if (as == "rpd" && regular) {
    return found;
  }
  auto source = Source::open(path);
  if (!source && regular) return found;
  if (!source) return std::move(source).error();
  const std::string_view head = source->head();
  if (!regular && store::is_sqlite(head)) {
    return make_error(ErrorCode::kUnsupported, "a database cannot be read from a pipe", path,
                      "save it as a file");
  }
  if (as.empty()) found.importer = surest_importer(path, head);
  if (regular) return found;
  if (found.importer == nullptr) return unknown_kind(*source);
  found.source = std::move(*source);
  return found;
}

}  // namespace sonde::importers
