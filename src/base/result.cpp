#include "base/result.h"

#include <cstring>

namespace sonde {

std::string Error::to_line() const {
  std::string line = context.empty() ? message : context + ": " + message;
  if (!hint.empty()) line += " (" + hint + ")";
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return line;
}

Error errno_error(std::string message, std::string context, int error_number) {
  return make_error(ErrorCode::kIo, std::move(message) + ": " + std::strerror(error_number),
                    std::move(context));
}

}  // namespace sonde
