// The command line of softgpu.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace softgpu {

struct Options {
  Config config;
  std::string keep_tree;  // where to create and keep the tree; "" = in a temporary folder
  bool publish = false;   // keeps the live files up to date for readers outside the session
  std::string attach;     // an existing tree to use
  std::vector<std::string> command;
};

// The text to print instead of starting a command (--help, --models ...), and the exit status.
struct Printout {
  std::string text;
  int exit_status = 0;
};

sonde::Result<std::variant<Options, Printout>> parse_options(int argc, char** argv);

}  // namespace softgpu
