// Smi: KFD's system management events: lines of text that monitors read from a descriptor of their
// own.
//
// Events of one process are sent to the whole session: each listening process has a socket in the
// tree, and a thread that forwards what its clients subscribed to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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
  explicit Smi(const std::string& tree);

  // Opens a client for one GPU's events; `fd` is the program's descriptor. Returns 0 or an errno.
  int open(uint32_t gpu, int& fd);
  // Sends to the whole session, or only to this process and to root's clients that subscribed to
  // all processes.
  void tell_all(uint32_t gpu, SmiEvent event, std::string_view text) const;
  void tell_own(uint32_t gpu, SmiEvent event, std::string_view text) const;

 private:
  struct Message;
  // Shared with the thread, which runs as long as the process.
  struct Clients;

  void tell(uint32_t gpu, SmiEvent event, int32_t pid, std::string_view text) const;
  int listen();

  const std::string folder_;
  const std::shared_ptr<Clients> clients_;
};

}  // namespace softgpu
