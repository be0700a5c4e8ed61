// What the libc functions that this library replaces share with the driver.
#pragma once

#include "driver/fd_table.h"

namespace softgpu {

FdTable& fd_table();
// Descriptor of the library's own: a program that closes all it finds does not close this one.
void keep_open(int fd);
// Moves the library's own descriptor away from the numbers that programs count on, and keeps it
// open.
int keep_away(int fd);
void close_kept(int fd);
// Opens /dev/kfd, a render node or a card; -1 and errno, as open() does.
int open_device(DeviceFile file, int flags);
// Which device file a path of the program (not of the tree) is; kNone for all others.
DeviceFile device_of_path(const char* path);

}  // namespace softgpu
