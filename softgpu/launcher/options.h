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
  std::string keep_tree;  // where to make the tree, which then stays; "" = a temporary one
  bool publish = false;   // the live files are kept up to date for readers outside
  std::string attach;     // an existing tree to use
  std::vector<std::string> command;
};

// What is to be printed instead of starting a command (--help, --models ...), with the exit status.
struct Printout {
  std::string text;
  int exit_status = 0;
};

sonde::Result<std::variant<Options, Printout>> parse_options(int argc, char** argv);

}  // namespace softgpu
