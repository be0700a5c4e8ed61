#include "cli/monitor_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/time.h"
#include "base/unique_fd.h"
#include "cli/monitor_kernels.h"
#include "cli/monitor_recorder.h"
#include "report/layout.h"
#include "watch/view.h"

namespace sonde::cli {

namespace {

constexpr int64_t kFirstNs = 250'000'000;  // after which the first rates are shown
constexpr int kKeyWaitMs = 30;             // after an escape, for the rest of a key

bool is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    return ::strcasestr(value, "utf-8") != nullptr || ::strcasestr(value, "utf8") != nullptr;
  }
  return false;
}

bool send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
  }
  return true;
}

// The terminal as a screen, for as long as this exists.
class Screen {
 public:
  Screen() { enter(); }
  ~Screen() { leave(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void enter() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C and Ctrl-Z stay signals
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    send("\x1b[?1049h\x1b[?25l\x1b[?7l");
  }
  void leave() {
    send("\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l");
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }

 private:
  termios before_ = {};
};

struct Name {
  const char *bytes, *key;
};
// As xterm, the Linux console and rxvt send them.
constexpr Name kKeys[] = {
    {"\x1b[A", "up"},       {"\x1b[B", "down"},       {"\x1b[C", "right"}, {"\x1b[D", "left"},
    {"\x1bOA", "up"},       {"\x1bOB", "down"},       {"\x1bOC", "right"}, {"\x1bOD", "left"},
    {"\x1b[5~", "page-up"}, {"\x1b[6~", "page-down"}, {"\x1b[H", "home"},  {"\x1b[F", "end"},
    {"\x1b[1~", "home"},    {"\x1b[4~", "end"},       {"\x1bOH", "home"},  {"\x1bOF", "end"},
    {"\x1bOP", "f1"},       {"\x1b[11~", "f1"},       {"\x1b[[A", "f1"},   {"\x1bOS", "f4"},
    {"\x1b[14~", "f4"},     {"\x1b[[D", "f4"},        {"\x1b[17~", "f6"},  {"\x1b[21~", "f10"},
    {"\t", "tab"},          {"\r", "enter"},          {"\n", "enter"},     {"\x7f", "backspace"},
    {"\b", "backspace"},    {"\x1b", "escape"},
};

// Takes a key from the beginning of what was typed; "" if it is one that means nothing.
std::string take_key(std::string& typed) {
  const Name* longest = nullptr;
  for (const Name& each : kKeys) {
    const size_t length = std::strlen(each.bytes);
    if (typed.compare(0, length, each.bytes) != 0) continue;
    if (longest == nullptr || length > std::strlen(longest->bytes)) longest = &each;
  }
  if (longest != nullptr &&
      (typed[0] != '\x1b' || longest->bytes[1] != '\0' || typed.size() == 1)) {
    typed.erase(0, std::strlen(longest->bytes));
    return longest->key;
  }
  if (typed[0] == '\x1b') {  // of a key that is not known: up to its last letter
    size_t end = 2;
    while (end < typed.size() && (typed[end] < '@' || typed[end] > '~')) ++end;
    typed.erase(0, std::min(end + 1, typed.size()));
    return {};
  }
  std::string key = typed.substr(0, 1);
  typed.erase(0, 1);
  return key;
}

class Loop {
 public:
  Loop(const watch::WatchOptions& options, double interval_s)
      : watcher_(options), view_(is_utf8()), colour_(report::wants_colour(STDOUT_FILENO)) {
    view_.set_interval(interval_s);
  }

  Result<int> run() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP}) sigaddset(&signals, each);
    ::sigprocmask(SIG_BLOCK, &signals, &before_);
    signals_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_.valid()) return errno_error("cannot wait for signals", "monitor", errno);
    recorder_.emplace(before_);
    kernels_.emplace(before_);
    Screen screen;
    view_.take(watcher_.look());
    int64_t due_ns = monotonic_now_ns() + kFirstNs;
    for (;;) {
      if (!show()) break;
      const int64_t left_ns = due_ns - monotonic_now_ns();
      pollfd waited[] = {{STDIN_FILENO, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
      const int timeout =
          view_.paused() ? -1 : static_cast<int>(std::max<int64_t>(0, left_ns) / 1'000'000 + 1);
      const int ready = ::poll(waited, 2, timeout);
      if (ready < 0 && errno != EINTR) break;
      if (waited[1].revents != 0 && !take_signals(screen)) break;
      if (waited[0].revents != 0 && !take_keys()) break;
      if (const auto pid = view_.take_wish()) view_.tell(recorder_->start(*pid));
      if (const auto pid = view_.take_kernels_wish()) {
        kernels_->show(*pid);
        view_.show(kernels_->look());
      }
      if (auto result = recorder_->result()) view_.tell(std::move(*result));
      if (!view_.paused() && monotonic_now_ns() >= due_ns) {
        view_.take(watcher_.look());
        view_.show(kernels_->look());
        due_ns = monotonic_now_ns() + static_cast<int64_t>(1e9 * view_.interval_s());
      }
      // A shorter interval counts at once.
      const int64_t most_ns = monotonic_now_ns() + static_cast<int64_t>(1e9 * view_.interval_s());
      due_ns = std::min(due_ns, most_ns);
    }
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    return 0;
  }

 private:
  bool show() {
    winsize size = {};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
      size.ws_col = 80;
      size.ws_row = 24;
    }
    watch::Cells now = view_.draw(size.ws_col, size.ws_row);
    const std::string bytes = difference(shown_ ? &*shown_ : nullptr, now, colour_);
    shown_ = std::move(now);
    return bytes.empty() || send("\x1b[?2026h" + bytes + "\x1b[?2026l");
  }

  bool take_signals(Screen& screen) {
    signalfd_siginfo info = {};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGTSTP) {
        screen.leave();
        ::raise(SIGSTOP);
        screen.enter();
        shown_.reset();
      } else if (info.ssi_signo == SIGWINCH) {
        shown_.reset();
      } else {
        return false;
      }
    }
    return true;
  }

  bool take_keys() {
    char buffer[256];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0) return got < 0 && errno == EINTR;
    std::string typed(buffer, static_cast<size_t>(got));
    if (typed.back() == '\x1b' || (typed.size() > 1 && typed[typed.size() - 2] == '\x1b')) {
      pollfd more = {STDIN_FILENO, POLLIN, 0};
      if (::poll(&more, 1, kKeyWaitMs) == 1) {
        const ssize_t rest = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (rest > 0) typed.append(buffer, static_cast<size_t>(rest));
      }
    }
    while (!typed.empty()) {
      const std::string key = take_key(typed);
      if (!key.empty() && !view_.press(key)) return false;
    }
    return true;
  }

  watch::Watcher watcher_;
  watch::View view_;
  bool colour_;
  sigset_t before_ = {};
  UniqueFd signals_;
  std::optional<watch::Cells> shown_;
  std::optional<MonitorRecorder> recorder_;
  std::optional<MonitorKernels> kernels_;
};

}  // namespace

bool can_show_screen() {
  const char* kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || *kind == '\0' || std::strcmp(kind, "dumb") == 0;
  return !dumb && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

Result<int> show_monitor_screen(const watch::WatchOptions& options, double interval_s) {
  return Loop(options, interval_s).run();
}

}  // namespace sonde::cli
