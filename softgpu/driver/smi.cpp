#include "driver/smi.h"

#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "driver/hooks.h"

namespace softgpu {
namespace {

constexpr uint64_t kAllProcesses = uint64_t{1} << 63;

// Addresses a socket through its folder's descriptor: a tree's path may exceed the length limit.
sockaddr_un address_in(int folder, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder,
                name.c_str());
  return address;
}

}  // namespace

struct Smi::Message {
  uint32_t gpu = 0, event = 0;
  int32_t pid = 0;  // 0: belongs to no process, so to everybody
  char text[KFD_SMI_EVENT_MSG_SIZE] = {};
};

struct Smi::Clients {
  struct Client {
    uint32_t gpu = 0;
    int fd = -1;  // our end
    uint64_t mask = 0;
  };

  void serve(int socket);
  void hand_on(const Message& message);

  std::mutex mutex;
  bool listening = false;
  std::vector<Client> all;
};

Smi::Smi(const std::string& tree) : folder_(tree + "/smi"), clients_(std::make_shared<Clients>()) {}

int Smi::listen() {
  std::error_code ignored;
  std::filesystem::create_directory(folder_, ignored);
  const int folder = ::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno;
  const std::string name = std::to_string(getpid());
  ::unlinkat(folder, name.c_str(), 0);
  const int made = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_in(folder, name);
  const bool bound =
      made >= 0 && bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = bound ? 0 : errno;
  ::close(folder);
  if (!bound) {
    if (made >= 0) ::close(made);
    return error;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([clients = clients_, socket = keep_away(made)] {
    pthread_setname_np(pthread_self(), "softgpu-smi");
    clients->serve(socket);
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  clients_->listening = true;
  return 0;
}

int Smi::open(uint32_t gpu, int& fd) {
  std::lock_guard lock(clients_->mutex);
  if (!clients_->listening) {
    if (const int error = listen()) return error;
  }
  int ends[2];
  // Reading never blocks, as with KFD.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return errno;
  clients_->all.push_back({.gpu = gpu, .fd = keep_away(ends[1])});
  fd = ends[0];
  return 0;
}

void Smi::Clients::serve(int socket) {
  for (;;) {
    Message message;
    const ssize_t bytes = recv(socket, &message, sizeof message, 0);
    if (bytes == sizeof message) {
      message.text[sizeof message.text - 1] = 0;
      hand_on(message);
    } else if (bytes < 0 && errno != EINTR) {
      return;
    }
  }
}

void Smi::Clients::hand_on(const Message& message) {
  std::lock_guard lock(mutex);
  std::erase_if(all, [&](Client& client) {
    uint64_t mask = 0;
    ssize_t bytes = 0;
    while ((bytes = recv(client.fd, &mask, sizeof mask, MSG_DONTWAIT)) == sizeof mask) {
      client.mask = mask;
    }
    const bool gone = bytes == 0;
    const bool wants = client.gpu == message.gpu &&
                       (client.mask & KFD_SMI_EVENT_MASK_FROM_INDEX(message.event)) != 0;
    const bool may = message.pid == 0 || message.pid == getpid() ||
                     ((client.mask & kAllProcesses) != 0 && geteuid() == 0);
    if (!gone && wants && may) {
      (void)send(client.fd, message.text, std::strlen(message.text), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (gone) close_kept(client.fd);
    return gone;
  });
}

void Smi::tell_all(uint32_t gpu, SmiEvent event, std::string_view text) const {
  tell(gpu, event, 0, text);
}
void Smi::tell_own(uint32_t gpu, SmiEvent event, std::string_view text) const {
  tell(gpu, event, getpid(), text);
}

void Smi::tell(uint32_t gpu, SmiEvent event, int32_t pid, std::string_view text) const {
  const int folder = ::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // there has never been a listener
  Message message{.gpu = gpu, .event = static_cast<uint32_t>(event), .pid = pid};
  std::snprintf(message.text, sizeof message.text, "%x %.*s\n", message.event,
                static_cast<int>(text.size()), text.data());
  const int from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const sockaddr_un to = address_in(folder, entry.path().filename().string());
    const ssize_t sent = sendto(from, &message, sizeof message, MSG_DONTWAIT,
                                reinterpret_cast<const sockaddr*>(&to), sizeof to);
    if (sent < 0 && errno == ECONNREFUSED) ::unlink(entry.path().c_str());  // its process has ended
  }
  if (from >= 0) ::close(from);
  ::close(folder);
}

}  // namespace softgpu
