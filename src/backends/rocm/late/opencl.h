// OpenCL in a process that is attached to: loads libsonde-opencl.so, which otherwise is a layer of
// the ICD loader, if the process has that loader.
#pragma once

namespace sonde::late {

// nullptr: calls are recorded now; "": there is no runtime yet; else the reason why not.
const char* begin_opencl();
void end_opencl();

}  // namespace sonde::late
