// OpenCL in a process that is attached to: libsonde-opencl.so is brought in, which is a layer of
// the ICD loader's otherwise, where the process has that loader.
#pragma once

namespace sonde::late {

// nullptr: calls are recorded now; "": there is no runtime yet; else why not.
const char* begin_opencl();
void end_opencl();

}  // namespace sonde::late
