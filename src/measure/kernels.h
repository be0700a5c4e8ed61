// The source of the kernels of roofs.h, HIP C++ for hiprtc.
#pragma once

namespace sonde::measure {

extern const char* const kKernelSource;

}  // namespace sonde::measure
