// KFD's and DRM's ioctls. 0, an errno value, or, negative, a count that the call answers with;
// never sets errno.
#pragma once

#include <cstdint>

#include "driver/driver.h"

namespace softgpu {

int kfd_ioctl(Driver& driver, unsigned long request, void* arguments);
int drm_ioctl(Driver& driver, uint32_t gpu, unsigned long request, void* arguments);

}  // namespace softgpu
