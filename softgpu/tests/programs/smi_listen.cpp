// smi_listen EVENTS: prints "listening", then the first GPU's KFD SMI events, one per line, up to
// that many.
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

int main(int argc, char** argv) {
  int wanted = argc > 1 ? std::atoi(argv[1]) : 1;
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  kfd_ioctl_smi_events_args request{};
  std::ifstream("/sys/class/kfd/kfd/topology/nodes/1/gpu_id") >> request.gpuid;
  if (kfd < 0 || ioctl(kfd, AMDKFD_IOC_SMI_EVENTS, &request) != 0) {
    std::perror("SMI events");
    return 1;
  }
  const int fd = static_cast<int>(request.anon_fd);
  const uint64_t all = (uint64_t{1} << 32) - 1;
  if (write(fd, &all, sizeof all) != sizeof all) return 1;
  std::puts("listening");
  std::fflush(stdout);
  while (wanted > 0) {
    pollfd waiting{fd, POLLIN, 0};
    char text[512];
    if (poll(&waiting, 1, 60'000) != 1) return 1;
    const ssize_t bytes = read(fd, text, sizeof text - 1);
    if (bytes <= 0) return 1;
    for (ssize_t i = 0; i < bytes; ++i) wanted -= text[i] == '\n' ? 1 : 0;
    std::fwrite(text, 1, static_cast<size_t>(bytes), stdout);
    std::fflush(stdout);
  }
  return 0;
}
