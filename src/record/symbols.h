// Names for the frames of sampled call stacks: functions, inlined ones too, files and lines, from
// the symbols and the debug information of the files that were executed. Debug information of its
// own file is found by build id and debug link, as gdb finds it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"
#include "store/frames.h"

namespace sonde::record {

// Every frame without a name gets one: where there is no symbol, the file's name and the offset of
// the function in it. A file that is no longer the one that ran (another build id) tells nothing.
Status name_frames(store::Database& database);

// Names addresses of files, the innermost function first, and keeps those files open.
using FileNames = std::function<std::vector<store::FrameName>(
    const std::string& path, const std::string& build_id, uint64_t address)>;
FileNames names_of_files();

}  // namespace sonde::record
