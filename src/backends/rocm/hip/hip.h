// The HIP backend's face to rocm/load.cpp.
#pragma once

namespace sonde::hip {

// Asks the HIP runtime of this process, if one is loaded, to report its calls. Whether it will.
bool register_callbacks();

// The same in a process that is attached to, again and again; HIP reports the ops, too. nullptr: it
// does; else why not.
const char* begin_attached();
void end_attached();

// The HIP runtime of this process, or nullptr while it is not loaded.
void* loaded_library();

// Whether it is HIP 6 or later, which lays out the data of its callbacks in another way.
bool has_newer_data();

// Whether this thread is in a call that came through exports.cpp.
bool called_by_name();

// The HSA backend reports the ops: HIP's own reports are turned off.
void use_hsa_ops();

}  // namespace sonde::hip
