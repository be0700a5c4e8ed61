#include "fault/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/strings.h"
#include "store/python_lines.h"

namespace sonde::fault {

namespace {

// LEB128; 0 if the bytes end too early.
uint64_t take_number(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 127U} << shift;
    if ((byte & 128U) == 0) break;
  }
  return value;
}

bool is_runtime(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return starts_with_any(name, {"libamdhip64.so", "libhsa-runtime64.so", "libhsakmt.so",
                                "libsonde-", "libsoftgpu", "librocprofiler", "librccl.so"});
}

bool is_hip(const std::string& path) {
  return std::filesystem::path(path).filename().string().starts_with("libamdhip64.so");
}

bool is_libc(const StackFrame& frame) {
  const std::string name = std::filesystem::path(frame.module).filename().string();
  return starts_with_any(name, {"libc.so", "libpthread.so", "ld-linux", "linux-vdso"});
}

// Inline functions of HIP's headers count as the call itself.
bool is_of_header(const StackFrame& frame) {
  return frame.file.find("/hip/") != std::string::npos && frame.file.ends_with(".h");
}

StackFrame python_frame(const PythonCode& code, uint64_t offset) {
  StackFrame frame;
  frame.function = code.name;
  frame.file = code.file;
  frame.line = store::python_line(code.version, code.lines, code.first_line, offset);
  frame.is_python = true;
  return frame;
}

void add_native(const LoadedModule& module, uint64_t address, const Namer& namer,
                std::vector<StackFrame>& frames) {
  const bool runtime = is_runtime(module.path);
  for (const store::FrameName& name : namer(module.path, module.build_id, address)) {
    frames.push_back({name.function, name.file, module.path, name.line, false, runtime});
  }
}

}  // namespace

NamedStack name_stack(const wire::BoardStack& stack, const Board& board, const Namer& namer) {
  std::vector<StackFrame> frames;
  std::string_view bytes(stack.frames, stack.bytes);
  while (!bytes.empty()) {
    const uint64_t which = take_number(bytes), offset = take_number(bytes);
    if ((which & 1) != 0) {
      const auto code = board.codes.find(which >> 1);
      if (code != board.codes.end()) frames.push_back(python_frame(code->second, offset));
      continue;
    }
    const auto module = board.modules.find(which >> 1);
    if (module != board.modules.end()) {
      add_native(module->second, offset, namer, frames);
    } else {
      frames.push_back({fmt::format("{:#x}", offset), "", "", 0, false, false});
    }
  }
  // A waiting thread is in libc, called by the runtime.
  auto begin = std::find_if_not(frames.begin(), frames.end(), is_libc);
  if (begin == frames.end() || !begin->is_runtime) begin = frames.begin();
  const auto user = std::find_if(begin, frames.end(), [](const StackFrame& frame) {
    return !frame.is_runtime && !is_of_header(frame);
  });
  NamedStack named;
  // Our own frames, which pass the call on, may be in between.
  for (auto frame = user; frame != begin && named.call.empty();) {
    --frame;
    if (!frame->is_runtime || frame->module.find("/libsonde-") != std::string::npos) continue;
    if (is_hip(frame->module)) {
      named.call.assign(stack.call, strnlen(stack.call, sizeof stack.call));
    }
    if (named.call.empty()) named.call = frame->function;
  }
  // Calls that the program makes by name go through our functions.
  std::copy_if(user, frames.end(), std::back_inserter(named.frames), [](const StackFrame& frame) {
    return frame.module.find("/libsonde-") == std::string::npos;
  });
  return named;
}

void list_threads(const Board& board, const Namer& namer, FaultReport& report) {
  const auto is_of_program = [](const StackFrame& frame) {
    return frame.is_python || !(frame.module.empty() || is_libc(frame) || frame.is_runtime);
  };
  for (uint32_t i = 0; i < board.state->thread_count; ++i) {
    const wire::BoardThread& thread = board.state->threads[i];
    NamedStack named = name_stack(thread.stack, board, namer);
    const bool is_of_device = std::string_view(thread.name) == "softgpu";
    const bool shown = (thread.runs == wire::kThreadRuns && !is_of_device) ||
                       std::any_of(named.frames.begin(), named.frames.end(), is_of_program);
    if (!shown) {
      ++report.other_threads;
      continue;
    }
    report.threads.push_back(
        {thread.tid, thread.name, std::move(named.call), thread.runs, std::move(named.frames)});
  }
}

std::string first_line(const std::vector<StackFrame>& frames) {
  if (frames.empty()) return {};
  // In a Python program, the user cannot change the native frames between Python and the runtime.
  const auto python = std::find_if(frames.begin(), frames.end(),
                                   [](const StackFrame& frame) { return frame.is_python; });
  const StackFrame& frame = python != frames.end() ? *python : frames.front();
  return frame.line == 0 ? frame.function
                         : fmt::format("{} at {}:{}", frame.function, frame.file, frame.line);
}

}  // namespace sonde::fault
