// Names for the frames of sampled call stacks: functions, including inlined ones, files and lines,
// from the symbols and the debug information of the executed files. Separate debug information is
// found by build id and debug link, as gdb does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"
#include "store/frames.h"

namespace sonde::record {

// Names every frame that has no name: without a symbol, by the file's name and the offset of the
// function in it. A file that has changed since (another build id) is not used.
Status name_frames(store::Database& database);

// Names addresses in files, the innermost function first, and keeps those files open.
using FileNames = std::function<std::vector<store::FrameName>(
    const std::string& path, const std::string& build_id, uint64_t address)>;
FileNames names_of_files();

}  // namespace sonde::record
