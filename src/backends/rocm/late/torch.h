// PyTorch operators in a process that is attached to: loads libsonde-torch.so, if the process has
// the libtorch that it was built for, and registers its callbacks.
#pragma once

namespace sonde::late {

bool has_torch();
// nullptr: operators are recorded now; else the reason why not.
const char* begin_torch();
void end_torch();

}  // namespace sonde::late
