// The groups of KFD's ioctls, a file each. A group returns 0, an errno, or -1 for a number that it
// does not handle.
#pragma once

#include "driver/driver.h"

namespace softgpu {

int kfd_memory_ioctl(Driver& driver, unsigned number, void* arguments);

template <typename Arguments>
Arguments& as(void* arguments) {
  return *static_cast<Arguments*>(arguments);
}

}  // namespace softgpu
