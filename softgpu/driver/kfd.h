// KFD's and DRM's ioctls. Return 0, an errno or, negated, a count as the result; never set errno.
#pragma once

#include <cstdint>

#include "driver/driver.h"

namespace softgpu {

int kfd_ioctl(Driver& driver, unsigned long request, void* arguments);
int drm_ioctl(Driver& driver, uint32_t gpu, unsigned long request, void* arguments);

}  // namespace softgpu
