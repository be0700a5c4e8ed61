// The HIP part's interface for rocm/load.cpp.
#pragma once

namespace sonde::hip {

// Asks the HIP runtime of this process, if one is loaded, to report its calls. Returns whether it
// will.
bool register_callbacks();

// The same in a process that is attached to, called repeatedly; HIP reports the ops, too. nullptr:
// it does; else the reason why not.
const char* begin_attached();
void end_attached();

// The HIP runtime of this process, or nullptr while it is not loaded.
void* loaded_library();

// Whether it is HIP 6 or later, whose callback data has a different layout.
bool has_newer_data();

// Whether this thread is in a call that came through exports.cpp.
bool called_by_name();

// The HSA part reports the ops: turns off HIP's own reports.
void use_hsa_ops();

}  // namespace sonde::hip
