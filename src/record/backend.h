// What the recorder knows about a capture backend: which variables load it into the program, and
// whether this machine has what it watches. A backend is a folder src/backends/NAME/ with its
// library and a file record/backends/NAME.cpp that defines `Backend NAME_backend()`; the build
// finds it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::record {

struct Probe {
  bool available = false;  // the watched interface exists here
  std::string detail;      // what was found, or what is missing and how to get it
};

// "NAME+=VALUE" and so on, as in base/environment_merge.h; "{lib}" stands for Sonde's library
// folder and "{env:NAME}" for the variable's value when the recording starts.
using Injection = std::string;

struct Backend {
  std::string name;
  std::string summary;  // one line for `sonde doctor`
  std::string library;  // "libsonde-opencl.so"
  std::vector<Injection> injections;
  std::function<Probe()> probe;
};

// The probe of a backend that needs nothing from the machine.
inline std::function<Probe()> always(const char* detail) {
  return [detail] { return Probe{true, detail}; };
}

// Generated from the folders of backends/.
std::span<const Backend> all_backends();
const Backend* find_backend(std::string_view name);

struct Options;
// The backends that a recording loads: all installed ones, or those named.
Result<std::vector<const Backend*>> chosen_backends(const Options& options);

// Whether the dynamic loader finds one of these libraries; the first one found goes to `found`.
bool find_library(std::span<const char* const> names, std::string* found);

// The folder of the agent and the backends' libraries: next to the running tool.
std::string library_folder();

}  // namespace sonde::record
