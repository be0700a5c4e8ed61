#include "backends/cpu/python_pages.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "agent/platform.h"

namespace sonde::cpu {

namespace {

StackBounds g_runtime;
bool g_has_chunks = false;

uint64_t latest_frame(const PythonLayout& layout, Reading& memory, uint64_t thread) {
  const auto frame = memory.at<uint64_t>(thread, layout.thread_frame);
  return layout.cframe_frame == kDirect ? frame : memory.at<uint64_t>(frame, layout.cframe_frame);
}

}  // namespace

void find_runtime() {
  void* const runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
  if (runtime == nullptr) dlerror();  // clears the error, which the program would otherwise see
  g_runtime = extent_of(runtime);
}

void look_for_chunk(const PythonLayout& layout, Reading& memory, uint64_t thread) {
  const auto chunk = memory.at<uint64_t>(thread, layout.thread_chunk);
  const bool is_chunk = layout.thread_chunk != 0 &&
                        memory.at<uint64_t>(chunk, kChunkSize) >= kLeastChunk &&
                        latest_frame(layout, memory, thread) - chunk < kLeastChunk;
  agent::store(g_has_chunks, is_chunk);
}

void know_own_pages(const PythonLayout& layout, Reading& memory, uint64_t thread) {
  const uint64_t bytes = bytes_of_state(layout);
  if (!agent::load(g_has_chunks) || thread < g_runtime.low || thread + bytes > g_runtime.high) {
    return;
  }
  memory.know_pages(thread, bytes);
  const auto chunk = memory.at<uint64_t>(thread, layout.thread_chunk);
  if (chunk != 0 && chunk % 4096 == 0) memory.know_chunk({chunk, chunk + kLeastChunk});
}

StackBounds extent_of(void* symbol) {
  Dl_info info = {};
  const ElfW(Sym)* found = nullptr;
  const bool is_known =
      symbol != nullptr &&
      dladdr1(symbol, &info, const_cast<void**>(reinterpret_cast<const void* const*>(&found)),
              RTLD_DL_SYMENT) != 0 &&
      found != nullptr;
  const auto start = reinterpret_cast<uint64_t>(symbol);
  return is_known ? StackBounds{start, start + found->st_size} : StackBounds{};
}

}  // namespace sonde::cpu
