// What the interposed libc functions share with the driver.
#pragma once

#include "driver/fd_table.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace softgpu {

FdTable& fd_table();
// Protects a descriptor of the library: a program that closes all descriptors does not close it.
void keep_open(int fd);
// Moves the library's descriptor away from low numbers, which programs rely on, and protects it.
int keep_away(int fd);
void close_kept(int fd);
// Opens /dev/kfd, a render node or a card; returns -1 and errno like open().
int open_device(DeviceFile file, int flags);
// The device file at a path of the program (not of the tree); kNone for all others.
DeviceFile device_of_path(const char* path);

}  // namespace softgpu
