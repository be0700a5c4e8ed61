// The groups of KFD's ioctls, each in a file of its own. A group answers with 0, an errno value, or
// -1 if the number is none of its.
#pragma once

#include "driver/driver.h"

namespace softgpu {

int kfd_memory_ioctl(Driver& driver, unsigned number, void* arguments);

template <typename Arguments>
Arguments& as(void* arguments) {
  return *static_cast<Arguments*>(arguments);
}

}  // namespace softgpu
