// Smi: KFD's events for system management: lines of text that monitors read from a descriptor of
// their own.
//
// What happens in one process is told to all of the session: each that listens has a socket in the
// tree, and a thread that hands on what its clients asked for.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace softgpu {

enum class SmiEvent : uint32_t {
  kMemoryFault = 1,
  kBeforeReset = 3,
  kAfterReset = 4,
  kMigrationBegins = 5,
  kMigrationEnds = 6,
};

class Smi {
 public:
  explicit Smi(const std::string& tree) : folder_(tree + "/smi") {}

  // A client of one GPU's events; `fd` is the program's. 0 or an errno value.
  int open(uint32_t gpu, int& fd);
  // To all of the session, or only to this process and to root's clients that ask for all
  // processes.
  void tell_all(uint32_t gpu, SmiEvent event, std::string_view text) const;
  void tell_own(uint32_t gpu, SmiEvent event, std::string_view text) const;

 private:
  struct Client {
    uint32_t gpu = 0;
    int fd = -1;  // our end
    uint64_t mask = 0;
  };
  struct Message;

  void tell(uint32_t gpu, SmiEvent event, int32_t pid, std::string_view text) const;
  int listen();
  void serve(int socket);
  void hand_on(const Message& message);

  const std::string folder_;
  std::mutex mutex_;
  bool listening_ = false;
  std::vector<Client> clients_;
};

}  // namespace softgpu
