#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/printable.h"

namespace sonde::cli {

Status write_stdout(std::string_view text) {
  std::string safe;
  if (!is_safe_output(text, safe)) text = safe;
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      std::exit(0);
    } else if (errno != EINTR) {
      return errno_error("cannot write", "standard output", errno);
    }
  }
  return ok_status();
}

void print_error_line(std::string_view text) {
  fmt::print(stderr, "sonde: {}\n", printable(text, Lines::kJoin));
}

int usage_error(std::string_view command, const Error& error) {
  Error shown = error;
  if (shown.hint.empty()) {
    shown.hint = "see sonde " + (command.empty() ? "" : std::string(command) + " ") + "--help";
  }
  print_error_line(command.empty() ? shown.to_line()
                                   : std::string(command) + ": " + shown.to_line());
  return 2;
}

}  // namespace sonde::cli
