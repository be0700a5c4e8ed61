// Rotation: a recording that goes on in another file, and the parts joined again.
//
// Calls, operations and texts keep their numbers over all parts of a recording, so a link between
// two of them holds even where they lie in different parts, and a join is exact. What names things
// (strings, processes, devices, frames) is in every part, so that each opens alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace sonde::store {

// Where the numbers of a part begin.
struct PartStart {
  int64_t api_id = 0, op_id = 0;  // the last ones before the part
};

// Makes the file `next` of all that records to come may refer to, and takes out of `part`, which is
// committed and has a transaction open, what goes on there: calls whose operations have not come
// and operations whose calls have not, once each: where they have not come by the next rotation
// either, the link is lost. `now_ns` is the end of the one and the start of the other.
Result<PartStart> hand_over(Database& part, const PartStart& start, const std::string& next,
                            int64_t now_ns);

// The recording that a file is a part of, "" if none.
Result<std::string> rotated_recording(Database& database);
inline constexpr const char* kRecordingTag = "sonde::recording";

// Makes `output`, which must not exist, of finished parts of one recording, in their order; of what
// is in them the last `last_ns`, or all where that is 0.
Status join_parts(const std::vector<std::string>& parts, const std::string& output,
                  int64_t last_ns = 0);

}  // namespace sonde::store
