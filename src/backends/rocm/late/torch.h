// Operators of PyTorch in a process that is attached to: libsonde-torch.so is brought in, where the
// process has the libtorch that it was built for, and asks that to tell of them.
#pragma once

namespace sonde::late {

bool has_torch();
// nullptr: operators are recorded now; else why not.
const char* begin_torch();
void end_torch();

}  // namespace sonde::late
