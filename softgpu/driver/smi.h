// Smi: KFD's events for system management: lines of text that monitors read from a descriptor of
// their own.
//
// What happens in one process is told to all of the session: each that listens has a socket in the
// tree, and a thread that hands on what its clients asked for.
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

  // A client of one GPU's events; `fd` is the program's. 0 or an errno value.
  int open(uint32_t gpu, int& fd);
  // To all of the session, or only to this process and to root's clients that ask for all
  // processes.
  void tell_all(uint32_t gpu, SmiEvent event, std::string_view text) const;
  void tell_own(uint32_t gpu, SmiEvent event, std::string_view text) const;

 private:
  struct Message;
  // Of the thread too, which goes on as long as the process does.
  struct Clients;

  void tell(uint32_t gpu, SmiEvent event, int32_t pid, std::string_view text) const;
  int listen();

  const std::string folder_;
  const std::shared_ptr<Clients> clients_;
};

}  // namespace softgpu
