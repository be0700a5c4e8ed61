// NVTX and ITT in a process that is attached to. Both are compiled into the objects that use them:
// each object has pointers to functions, which it sets at its first call, to no-ops if there is no
// tool, and which a tool may set as well. They are found in the objects' data by the constants
// around them. They stay set, and do nothing while there is no recording.
#pragma once

namespace sonde::late {

struct Annotations {
  bool nvtx, itt;  // such objects exist, and their markers are recorded
};
// Takes the wanted kinds. Searches the data of all objects: call at the start, when there are new
// objects, and while annotations_wait().
Annotations find_annotations(bool nvtx, bool itt);
// Whether some objects have not set their pointers yet.
bool annotations_wait();

}  // namespace sonde::late
