#include "fault/card_waves.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "base/time.h"
#include "base/unique_fd.h"
#include "fault/dbgapi.h"

namespace sonde::fault {
namespace {

using dbgapi::Callbacks;
using dbgapi::Handle;
using dbgapi::Status;

constexpr int64_t kLongestNs = 4'000'000'000;  // a failed program is held for 5 s
// With all registers; those that stopped by themselves first.
constexpr size_t kMostWaves = 256;

struct Library {
  template <typename F>
  using Pointer = F*;
#define X(name, version, ...) Pointer<__VA_ARGS__> name = nullptr;
  SONDE_DBGAPI_FUNCTIONS(X)
#undef X
};

// Opens the library; returns why it cannot be used, or "".
std::string open_library(Library& library) {
  void* const handle = dlopen(dbgapi::kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return fmt::format(
        "they need AMD's debugger library, which is missing ({}): apt-get install "
        "librocm-dbgapi0, from Debian 13 on; sonde debug --softgpu has those of the software GPU",
        why != nullptr ? why : dbgapi::kLibrary);
  }
  const char* missing = nullptr;
  const auto find = [&](auto& member, const char* name, const char* version) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(
        dlvsym(handle, name, (std::string("AMD_DBGAPI_") + version).c_str()));
    if (member == nullptr && missing == nullptr) missing = name;
  };
#define X(name, version, ...) find(library.name, "amd_dbgapi_" #name, version);
  SONDE_DBGAPI_FUNCTIONS(X)
#undef X
  if (missing == nullptr) return {};
  return fmt::format(
      "{} is of a version that Sonde does not know: it has no {} of API 0.54 to 0.70",
      dbgapi::kLibrary, missing);
}

// The library's callbacks; the client data is the pid.
Callbacks callbacks() {
  return {[](size_t bytes) { return std::malloc(bytes); }, [](void* memory) { std::free(memory); },
          [](void* client, pid_t* pid) {
            *pid = *static_cast<const pid_t*>(client);
            return dbgapi::kSuccess;
          },
          // Libraries that the program loads meanwhile do not matter.
          [](void*, uint64_t, Handle) { return dbgapi::kSuccess; },
          [](void*, Handle) { return dbgapi::kSuccess; }, [](int, const char*) {}};
}

std::string words_of(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    text += fmt::format("{:08x}", word);
  }
  return text;
}

uint64_t number_of(const std::vector<uint8_t>& bytes) {
  uint64_t number = 0;
  if (!bytes.empty()) std::memcpy(&number, bytes.data(), std::min(bytes.size(), sizeof number));
  return number;
}

class Reader {
 public:
  Reader(const Library& library, Handle process, int64_t pid)
      : api_(library), process_(process), pid_(pid) {}

  // Acknowledges pending events. False: the library does not support the process' runtime.
  bool take_events() {
    bool is_known = true;
    Handle event;
    int kind = dbgapi::kNoEvent;
    while (api_.process_next_pending_event(process_, &event, &kind) == dbgapi::kSuccess &&
           kind != dbgapi::kNoEvent) {
      int state = 0;
      if (kind == dbgapi::kRuntimeEvent &&
          api_.event_get_info(event, dbgapi::kRuntimeState, sizeof state, &state) ==
              dbgapi::kSuccess)
        is_known &= state != dbgapi::kRuntimeIsRefused;
      api_.event_processed(event);
    }
    return is_known;
  }

  std::vector<Handle> waves() {
    size_t count = 0;
    Handle* list = nullptr;
    if (api_.process_wave_list(process_, &count, &list, nullptr) != dbgapi::kSuccess) return {};
    return {list, list + count};
  }

  // Stops the waves; those that had stopped by themselves come first.
  std::vector<Handle> stop(std::vector<Handle> waves) {
    std::vector<Handle> stopped;
    const auto runs = [this](Handle wave) {
      return info<int>(wave, dbgapi::kState) != dbgapi::kWaveIsStopped;
    };
    std::stable_partition(waves.begin(), waves.end(), [&](Handle wave) { return !runs(wave); });
    for (const Handle wave : waves) {
      if (stopped.size() == kMostWaves) break;
      if (runs(wave)) {
        if (api_.wave_stop(wave) != dbgapi::kSuccess) continue;
        running_.push_back(wave);
      }
      stopped.push_back(wave);
    }
    take_events();
    return stopped;
  }
  void let_go() {
    for (const Handle wave : running_) api_.wave_resume(wave, 0, 0);
  }

  std::string line_of(Handle wave) {
    const auto registers = registers_of(wave);
    const auto dispatch = info<Handle>(wave, dbgapi::kDispatch);
    const auto ids = info<std::array<uint32_t, 3>>(wave, dbgapi::kGroupIds);
    const auto sizes = of_dispatch<std::array<uint16_t, 3>>(dispatch, dbgapi::kGroupSizes);
    const auto grid = of_dispatch<std::array<uint32_t, 3>>(dispatch, dbgapi::kGridSizes);
    uint64_t group = 0;
    for (int axis = 2; axis >= 0; --axis) {
      const uint64_t size = std::max<uint64_t>(1, sizes[axis]);
      group = group * ((grid[axis] + size - 1) / size) + ids[axis];
    }
    const auto reason = info<uint32_t>(wave, dbgapi::kStopReason);
    // For a wave stopped by a trap, the library reports the instruction after s_trap.
    const bool trapped = (reason & (dbgapi::kTrap | dbgapi::kAssertTrap | dbgapi::kDebugTrap)) != 0;
    const uint64_t pc = info<uint64_t>(wave, dbgapi::kPc) - (trapped ? 4 : 0);
    const auto hex = [&](const char* name) { return number_of(found(registers, name)); };
    std::string line = fmt::format(
        R"({{"line": "state", "pid": {}, "time_ns": {}, "gpu": {}, "dispatch": {}, "kernel": "", "group": {}, )"
        R"("group_id": [{}, {}, {}], "wave": {}, "pc": "{:#x}", "offset": "{:#x}", "exec": "{:#x}", )"
        R"("version": 1, "why": "{}", "status": "{:#x}", "trapsts": "{:#x}", "mode": "{:#x}", "m0": "{:#x}", )"
        R"("vcc": "{:#x}", "scc": {}, "trap": {}, "kernel_object": "{:#x}", "sgprs": ")",
        pid_, monotonic_now_ns(), gpu_of(info<Handle>(wave, dbgapi::kAgent)), dispatch.handle,
        group, ids[0], ids[1], ids[2], info<uint32_t>(wave, dbgapi::kNumberInGroup), pc, pc,
        info<uint64_t>(wave, dbgapi::kExec), why_of(reason), hex("status"), hex("trapsts"),
        hex("mode"), hex("m0"), hex("vcc"), hex("status") & 1,
        (reason & dbgapi::kAssertTrap) != 0  ? 2
        : (reason & dbgapi::kDebugTrap) != 0 ? 3
                                             : 0,
        of_dispatch<uint64_t>(dispatch, dbgapi::kKernelDescriptor));
    for (int i = 0; registers.contains("s" + std::to_string(i)); ++i)
      line += words_of(registers.at("s" + std::to_string(i)));
    line += R"(", "vgprs": [)" + rows(registers, 'v') + R"(], "agprs": [)" + rows(registers, 'a') +
            R"(], "lds": ")";
    for (const uint8_t byte :
         local_memory(wave, of_dispatch<uint64_t>(dispatch, dbgapi::kGroupBytes)))
      line += fmt::format("{:02x}", byte);
    return line + "\"}\n";
  }

 private:
  using Registers = std::map<std::string, std::vector<uint8_t>>;

  template <typename T>
  T info(Handle wave, int query) const {
    T value{};
    api_.wave_get_info(wave, query, sizeof value, &value);
    return value;
  }
  template <typename T>
  T of_dispatch(Handle dispatch, int query) const {
    T value{};
    api_.dispatch_get_info(dispatch, query, sizeof value, &value);
    return value;
  }

  static const char* why_of(uint32_t reason) {
    if ((reason & dbgapi::kMemoryViolation) != 0) return "memory_fault";
    if ((reason & dbgapi::kApertureViolation) != 0) return "aperture_violation";
    if ((reason & dbgapi::kIllegalInstruction) != 0) return "illegal_instruction";
    return reason != 0 ? "trap" : "demand";
  }

  int gpu_of(Handle agent) const {
    size_t count = 0;
    Handle* agents = nullptr;
    if (api_.process_agent_list(process_, &count, &agents, nullptr) != dbgapi::kSuccess) return -1;
    std::vector<uint64_t> numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(agents[i].handle);
    std::free(agents);
    std::sort(numbers.begin(), numbers.end());
    return static_cast<int>(std::find(numbers.begin(), numbers.end(), agent.handle) -
                            numbers.begin());
  }

  Registers registers_of(Handle wave) const {
    Registers registers;
    size_t count = 0;
    Handle* list = nullptr;
    if (api_.wave_register_list(wave, &count, &list) != dbgapi::kSuccess) return registers;
    for (size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      uint64_t bytes = 0;
      api_.register_get_info(list[i], dbgapi::kName, sizeof name, &name);
      api_.register_get_info(list[i], dbgapi::kSize, sizeof bytes, &bytes);
      std::vector<uint8_t> value(bytes);
      if (name != nullptr && bytes != 0 &&
          api_.read_register(wave, list[i], 0, bytes, value.data()) == dbgapi::kSuccess)
        registers[name] = std::move(value);
      std::free(name);
    }
    std::free(list);
    return registers;
  }
  static std::vector<uint8_t> found(const Registers& registers, const std::string& name) {
    const auto at = registers.find(name);
    return at == registers.end() ? std::vector<uint8_t>() : at->second;
  }
  static std::string rows(const Registers& registers, char letter) {
    std::string text;
    for (int i = 0; registers.contains(letter + std::to_string(i)); ++i) {
      text += (i == 0 ? "\"" : ", \"") + words_of(registers.at(letter + std::to_string(i))) + '"';
    }
    return text;
  }

  std::vector<uint8_t> local_memory(Handle wave, uint64_t bytes) const {
    Handle space;
    const auto architecture = info<Handle>(wave, dbgapi::kArchitecture);
    if (bytes == 0 || api_.dwarf_address_space_to_address_space(architecture, dbgapi::kLocalMemory,
                                                                &space) != dbgapi::kSuccess)
      return {};
    std::vector<uint8_t> memory(bytes);
    if (api_.read_memory(process_, wave, 0, space, 0, &bytes, memory.data()) != dbgapi::kSuccess)
      return {};
    memory.resize(bytes);
    return memory;
  }

  const Library& api_;
  const Handle process_;
  const int64_t pid_;
  std::vector<Handle> running_;
};

// Runs in the child process; returns why it failed, or "".
std::string ask_library(int64_t pid, const std::string& path) {
  Library api;
  if (std::string trouble = open_library(api); !trouble.empty()) return trouble;
  auto traced = static_cast<pid_t>(pid);
  Callbacks asked_back = callbacks();
  api.set_log_level(0);
  if (const Status status = api.initialize(&asked_back); status != dbgapi::kSuccess)
    return fmt::format("{} does not start: status {}", dbgapi::kLibrary, status);
  if (ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) != 0) {
    return fmt::format(
        "process {} cannot be traced for {}: {} (another debugger, or kernel.yama.ptrace_scope)",
        pid, dbgapi::kLibrary, std::strerror(errno));
  }
  Handle process;
  if (const Status status = api.process_attach(&traced, &process); status != dbgapi::kSuccess)
    return fmt::format("{} does not attach to process {}: status {} (it needs KFD 1.13 or newer)",
                       dbgapi::kLibrary, pid, status);
  Reader reader(api, process, pid);
  if (!reader.take_events())
    return fmt::format("{} does not work with this process's ROCr or this driver",
                       dbgapi::kLibrary);
  if (api.process_set_progress(process, dbgapi::kNoForwardProgress) != dbgapi::kSuccess)
    return fmt::format("{} cannot stop the queues of process {}", dbgapi::kLibrary, pid);
  std::string text;
  const std::vector<Handle> all = reader.waves();
  const std::vector<Handle> waves = reader.stop(all);
  for (const Handle wave : waves) text += reader.line_of(wave);
  reader.let_go();
  api.process_set_progress(process, dbgapi::kProgressNormal);
  api.process_detach(process);
  std::ofstream file(path, std::ios::app);
  file << text << std::flush;
  if (!file) return path + " cannot be written";
  if (all.empty()) return "none were on the GPUs";
  if (waves.size() == all.size()) return "";
  return fmt::format("{} more were on the GPUs; the registers of at most {} are read",
                     all.size() - waves.size(), kMostWaves);
}

}  // namespace

std::string write_card_waves(int64_t pid, const std::string& path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return std::string("no process for them: ") + std::strerror(errno);
  if (child == 0) {
    const std::string trouble = ask_library(pid, path) + '\n';
    (void)!::write(writing.get(), trouble.data(), trouble.size());
    ::_exit(0);
  }
  writing.reset();
  int status = 0;
  const int64_t until_ns = monotonic_now_ns() + kLongestNs;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, WNOHANG)) == 0 && monotonic_now_ns() < until_ns)
    ::usleep(5'000);
  if (ended == 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return fmt::format("{} took longer than {} s", dbgapi::kLibrary, kLongestNs / 1'000'000'000);
  }
  char text[1024];
  const ssize_t bytes = ::read(reading.get(), text, sizeof text);
  if (bytes <= 0) return fmt::format("{} ended the process that asked it", dbgapi::kLibrary);
  std::string trouble(text, static_cast<size_t>(bytes));
  trouble.pop_back();
  return trouble;
}

}  // namespace sonde::fault
