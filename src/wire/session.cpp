#include "wire/session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "base/number.h"
#include "base/private_file.h"
#include "base/unique_fd.h"
#include "wire/clocks.h"
#include "wire/processes.h"

namespace sonde::wire {

namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// A killed recorder may hold the lock until the kernel has released its memory.
bool lock_soon(int fd) {
  struct flock lock = whole_file();
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return true;
    ::usleep(20000);
  }
  return false;
}

SessionControl* map_control(int fd) {
  void* memory = ::mmap(nullptr, sizeof(SessionControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<SessionControl*>(memory);
}

bool invariant_tsc() {
#ifdef __x86_64__
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  return false;
#endif
}

// "p12-ab" -> 12 and "ab"; the suffix of "p12-ab-f" marks a process of another pid namespace.
std::optional<std::pair<uint32_t, std::string_view>> split_name(std::string_view name,
                                                                char prefix) {
  if (name.size() < 3 || name[0] != prefix) return std::nullopt;
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = number_in<uint32_t>(name.substr(1, dash - 1));
  return number ? std::optional(std::pair{*number, name.substr(dash + 1)}) : std::nullopt;
}

// Calls visit(path, number, text after the dash) for each file whose name has that form.
template <typename Visit>
void each_numbered(const std::string& folder, char prefix, const Visit& visit) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const auto parts = split_name(name, prefix);
    if (parts) visit(entry.path().string(), parts->first, parts->second);
  }
}

// The kernel's random number of this boot, "1b4e28ba-2fa1-...", in two words; 0 if it tells none.
std::array<uint64_t, 2> boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  file >> text;
  text.erase(std::remove(text.begin(), text.end(), '-'), text.end());
  if (text.size() != 32) return {};
  return {number_in<uint64_t>(std::string_view(text).substr(0, 16), 16).value_or(0),
          number_in<uint64_t>(std::string_view(text).substr(16), 16).value_or(0)};
}

}  // namespace

Control::Control(Control&& other) noexcept
    : control_(std::exchange(other.control_, nullptr)), fd_(std::move(other.fd_)) {}
Control& Control::operator=(Control&& other) noexcept {
  std::swap(control_, other.control_);
  std::swap(fd_, other.fd_);
  return *this;
}
Control::~Control() {
  if (control_ != nullptr) ::munmap(control_, sizeof(SessionControl));
}

Result<Control> Control::create(const std::string& session, const SessionOptions& options) {
  const std::string path = session + "/control";
  UniqueFd fd = create_private_file(path, O_RDWR);
  if (!fd.valid()) return errno_error("cannot create the control file", path, errno);
  if (const int error = ::posix_fallocate(fd.get(), 0, sizeof(SessionControl)); error != 0) {
    return errno_error("no space for the session", session, error);
  }
  const std::string processes = session + "/" + kProcessesFile;
  if (!UniqueFd(::open(processes.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)).valid()) {
    return errno_error("cannot create the list of processes", processes, errno);
  }
  SessionControl* control = map_control(fd.get());
  if (control == nullptr) return errno_error("cannot map the control file", path, errno);
  struct flock lock = whole_file();
  ::fcntl(fd.get(), F_OFD_SETLK, &lock);  // before any process can find it unlocked
  control->version = kWireVersion;
  control->control_bytes = sizeof(SessionControl);
  control->clock = options.clock;
  control->autostart = options.autostart ? 1 : 0;
  control->recording = options.recording ? 1 : 0;
  control->limit_bytes = options.limit_bytes;
  control->orphan_bytes = options.orphan_bytes;
  control->sample_hz = options.sample_hz;
  control->sample_blocked = options.sample_blocked ? 1 : 0;
  control->launch_stacks = options.launch_stacks ? 1 : 0;
  control->id = static_cast<uint64_t>(clock_ns(CLOCK_REALTIME)) ^ static_cast<uint64_t>(::getpid())
                                                                      << 44;
  struct stat info {};
  if (::stat("/proc/self/ns/pid", &info) == 0) control->pid_namespace = info.st_ino;
  const auto boot = boot_id();
  std::copy(boot.begin(), boot.end(), control->boot);
  __atomic_store_n(&control->magic, kControlMagic, __ATOMIC_RELEASE);
  return Control(control, std::move(fd));
}

Result<Control> Control::map(const std::string& session, UniqueFd fd) {
  const std::string path = session + "/control";
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || info.st_size < static_cast<off_t>(sizeof(SessionControl))) {
    return make_error(ErrorCode::kBadData, "the control file is truncated", path);
  }
  SessionControl* control = map_control(fd.get());
  if (control == nullptr) return errno_error("cannot map the control file", path, errno);
  Control mapped(control, std::move(fd));
  if (control->magic != kControlMagic || control->version != kWireVersion) {
    return make_error(ErrorCode::kBadData, "the control file has another version", path,
                      "use the sonde that recorded it");
  }
  return mapped;
}

Result<Control> Control::open(const std::string& session) {
  const std::string path = session + "/control";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) {
    return make_error(ErrorCode::kNotFound, "not a session directory of sonde record", session,
                      "it holds a file named control and folders p<PID>-...");
  }
  if (!lock_soon(fd.get())) {
    return make_error(ErrorCode::kUnsupported, "its recording is still running", session,
                      "end it first");
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && info.st_nlink == 0) {
    return make_error(ErrorCode::kNotFound, "its recording has just been finished", session);
  }
  return map(session, std::move(fd));
}

Result<Control> Control::attach(const std::string& session) {
  UniqueFd fd(::open((session + "/control").c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return errno_error("cannot be opened", session + "/control", errno);
  return map(session, std::move(fd));
}

bool is_being_read(const std::string& session) {
  UniqueFd fd(::open((session + "/control").c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock = whole_file();
  return fd.valid() && ::fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool is_of_this_boot(const SessionControl& control) {
  const auto boot = boot_id();
  const bool told = (control.boot[0] | control.boot[1]) != 0 && (boot[0] | boot[1]) != 0;
  return !told || std::equal(boot.begin(), boot.end(), control.boot);
}

ClockKind best_clock() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  file >> source;
  return source == "tsc" && invariant_tsc() ? ClockKind::kTsc : ClockKind::kMonotonic;
}

ClockReading read_clocks_exactly(ClockKind kind) { return read_clocks(kind, 0); }

std::vector<SpoolFolder> list_spools(const std::string& session) {
  std::vector<SpoolFolder> folders;
  each_numbered(session, 'p', [&](std::string path, uint32_t pid, std::string_view spool) {
    SpoolFolder folder{.path = std::move(path), .pid = pid};
    folder.other_namespace = spool.size() > 2 && spool.ends_with(kOtherNamespaceSuffix);
    if (folder.other_namespace) spool.remove_suffix(2);
    const auto number = number_in<uint64_t>(spool, 16);
    if (!number) return;
    folder.spool = *number;
    folders.push_back(std::move(folder));
  });
  std::sort(folders.begin(), folders.end(),
            [](const auto& a, const auto& b) { return a.spool < b.spool; });
  return folders;
}

std::vector<ChunkFile> list_chunks(const std::string& folder) {
  std::vector<ChunkFile> chunks;
  each_numbered(folder, 'r', [&](std::string path, uint32_t ring, std::string_view file) {
    const auto number = number_in<uint64_t>(file);
    if (number) chunks.push_back({.path = std::move(path), .ring = ring, .file = *number});
  });
  std::sort(chunks.begin(), chunks.end(), [](const auto& a, const auto& b) {
    return a.ring != b.ring ? a.ring < b.ring : a.file < b.file;
  });
  return chunks;
}

}  // namespace sonde::wire
