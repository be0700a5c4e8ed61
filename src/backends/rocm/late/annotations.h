// NVTX and ITT in a process that is attached to. Both are parts of the objects that use them: each
// has pointers to functions, which it sets at its first call, to nothing where there is no tool,
// and which a tool may set as well. They are found in the objects' data by what is constant around
// them. They stay set, and do nothing while there is no recording.
#pragma once

namespace sonde::late {

struct Annotations {
  bool nvtx, itt;  // there are such objects, and their markers are recorded
};
// Which kinds are wanted. Looks into the data of all objects: at the begin, and when there are new
// ones, or `waiting()` says so.
Annotations find_annotations(bool nvtx, bool itt);
// Some have not set their pointers yet.
bool annotations_wait();

}  // namespace sonde::late
