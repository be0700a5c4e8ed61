#include "base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace sonde {

std::string demangle(std::string_view name) {
  std::string_view symbol = name;
  if (symbol.size() > 3 && symbol.substr(symbol.size() - 3) == ".kd") symbol.remove_suffix(3);
  if (symbol.substr(0, 2) != "_Z") return std::string(name);
  int status = 0;
  const std::string terminated(symbol);
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(terminated.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : std::string(name);
}

}  // namespace sonde
