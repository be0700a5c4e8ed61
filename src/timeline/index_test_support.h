// An index of a file that a test has.
#pragma once

#include <filesystem>
#include <utility>

#include "base/result.h"
#include "store/reader.h"
#include "timeline/build_index.h"
#include "timeline/mapped_file.h"

namespace sonde::timeline {

inline Result<Index> index_of(store::Reader& reader, const FileKey& key = {}, Names known = {}) {
  const std::string folder = std::filesystem::temp_directory_path();
  SONDE_ASSIGN(const UniqueFd fd, unnamed_file(folder));
  Progress progress;
  SONDE_TRY(build_index(reader, key, fd.get(), folder, progress, std::move(known)));
  return load_index(fd.get(), "test", key);
}

}  // namespace sonde::timeline
