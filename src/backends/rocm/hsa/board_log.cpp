// The log of the board: infrequent, long data, one line each, with fields separated by spaces. In
// texts, '%' and all bytes that are not visible ASCII characters are written as %XX.
#include <stdio.h>
#include <stdlib.h>

#include "agent/platform.h"
#include "backends/rocm/hsa/board.h"

namespace sonde::hsa {
namespace {

constexpr size_t kMostPath = 512;
constexpr uint64_t kMostCopied = uint64_t{256} << 20;  // of code objects that are in no file

char g_path[kMostPath];  // the log's path
int g_fd = -1;
uint32_t g_modules, g_codes, g_copies;
uint64_t g_copied;

// A growing line of text; if memory runs out, it is not written.
class Line {
 public:
  ~Line() { free(text_); }
  Line& number(uint64_t value) {
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%s%lu", used_ != 0 ? " " : "", value);
    put(digits, static_cast<size_t>(length));
    return *this;
  }
  Line& word(const char* text) {
    put(" ", used_ != 0 ? 1 : 0);
    put(text, strlen(text));
    return *this;
  }
  Line& escaped(const void* bytes, size_t length) {
    put(" ", 1);
    const auto* at = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i < length; ++i) {
      char code[4] = {static_cast<char>(at[i]), '\0'};
      const bool plain = at[i] > ' ' && at[i] < 0x7f && at[i] != '%';
      if (!plain) snprintf(code, sizeof code, "%%%02x", at[i]);
      put(code, plain ? 1 : 3);
    }
    return *this;
  }
  void write() {
    put("\n", 1);
    if (good_ && g_fd >= 0 && ::write(g_fd, text_, used_) < 0) return;  // the disk is full
  }

 private:
  void put(const char* text, size_t length) {
    if (used_ + length > room_) {
      room_ = 2 * (used_ + length) + 256;
      void* larger = realloc(text_, room_);
      good_ = good_ && larger != nullptr;
      if (larger != nullptr) text_ = static_cast<char*>(larger);
    }
    if (!good_) return;
    memcpy(text_ + used_, text, length);
    used_ += length;
  }
  char* text_ = nullptr;
  size_t used_ = 0, room_ = 0;
  bool good_ = true;
};

// "memory://PID#offset=0xADDRESS&size=BYTES"
bool in_memory(const char* uri, uint64_t* address, uint64_t* bytes) {
  if (strncmp(uri, "memory://", 9) != 0) return false;
  const char* offset = strstr(uri, "offset=");
  const char* size = strstr(uri, "size=");
  if (offset == nullptr || size == nullptr) return false;
  *address = strtoull(offset + 7, nullptr, 0);
  *bytes = strtoull(size + 5, nullptr, 0);
  return *address != 0 && *bytes != 0;
}

// Returns the copy's number, 0 if there is none. The memory may be gone when a reader needs it.
uint32_t keep_copy(uint64_t address, uint64_t bytes) {
  if (bytes > kMostCopied - g_copied) return 0;
  char path[kMostPath + 16];
  const size_t stem = strlen(g_path) - strlen(".log");
  snprintf(path, sizeof path, "%.*s.%u", static_cast<int>(stem), g_path, g_copies + 1);
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return 0;
  // write() fails if the memory does not exist.
  const auto* at = reinterpret_cast<const char*>(address);
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t wrote = ::write(fd, at + done, bytes - done);
    if (wrote <= 0) break;
    done += static_cast<uint64_t>(wrote);
  }
  close(fd);
  if (done < bytes) {
    unlink(path);
    return 0;
  }
  g_copied += bytes;
  return ++g_copies;
}

}  // namespace

void open_log(const char* path) {
  snprintf(g_path, sizeof g_path, "%s", path);
  g_fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void log_code_object(uint64_t base, uint64_t bytes, int64_t delta, const char* uri) {
  if (board() == nullptr || g_fd < 0) return;
  uint64_t address = 0, size = 0;
  const uint32_t copy = in_memory(uri, &address, &size) ? keep_copy(address, size) : 0;
  Line line;
  line.word("object").number(base).number(bytes).number(static_cast<uint64_t>(delta)).number(copy);
  line.escaped(uri, strlen(uri)).write();
}

uint32_t log_module(const struct sonde_module* module) {
  const uint32_t number = __atomic_add_fetch(&g_modules, 1, __ATOMIC_RELAXED);
  Line line;
  line.word("module").number(number).number(module->bias);
  line.escaped(module->build_id, module->build_id_bytes);
  line.escaped(module->path, strlen(module->path)).write();
  return number;
}

uint32_t log_code(const struct sonde_code* code) {
  const uint32_t number = __atomic_add_fetch(&g_codes, 1, __ATOMIC_RELAXED);
  Line line;
  line.word("code").number(number).number(code->first_line).number(code->version);
  line.escaped(code->file, code->file_bytes).escaped(code->name, code->name_bytes);
  line.escaped(code->lines, code->line_bytes).write();
  return number;
}

}  // namespace sonde::hsa
