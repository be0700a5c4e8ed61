#include "backends/cpu/mapped_files.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sonde::cpu {

namespace {

// One line: "7f00-7f10 r-xp 00001000 fd:01 1234   /lib/libx.so".
struct Line {
  uint64_t start = 0, end = 0, offset = 0, inode = 0;
  bool readable = false, executable = false;
  const char* path = nullptr;
  size_t path_bytes = 0;
};

uint64_t number(const char*& at, const char* end, unsigned base) {
  uint64_t value = 0;
  for (; at < end; ++at) {
    const char c = *at;
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                                                  : 99u;
    if (digit >= base) break;
    value = value * base + digit;
  }
  return value;
}

void skip(const char*& at, const char* end, char to) {
  while (at < end && *at != to) ++at;
  while (at < end && *at == to) ++at;
}

Line parse(const char* at, const char* end) {
  Line line;
  line.start = number(at, end, 16);
  skip(at, end, '-');
  line.end = number(at, end, 16);
  skip(at, end, ' ');
  line.readable = end - at > 2 && at[0] == 'r';
  line.executable = end - at > 2 && at[2] == 'x';
  skip(at, end, ' ');
  line.offset = number(at, end, 16);
  skip(at, end, ' ');  // the device is next
  skip(at, end, ' ');
  line.inode = number(at, end, 10);
  while (at < end && *at == ' ') ++at;
  line.path = at;
  line.path_bytes = static_cast<size_t>(end - at);
  return line;
}

bool is_vdso(const Line& line) {
  return line.path_bytes == 6 && memcmp(line.path, "[vdso]", 6) == 0;
}

// Merges a file's mappings, which are adjacent, with its .bss in between or after them.
class Files {
 public:
  Files(TakeFile take, void* context) : take_(take), context_(context) {}

  void add(const Line& line) {
    const bool vdso = is_vdso(line);
    if (line.inode == 0 && !vdso) return;
    if (file_.start != 0 && line.inode == inode_ && line.offset != 0) {
      file_.end = line.end;
      executable_ |= line.executable;
      return;
    }
    finish();
    if ((line.offset != 0 && !vdso) || !line.readable || line.path_bytes > sizeof path_) return;
    memcpy(path_, line.path, line.path_bytes);
    file_ = {line.start, line.end, path_, line.path_bytes};
    inode_ = line.inode;
    executable_ = line.executable;
  }

  void finish() {
    if (file_.start != 0 && executable_) take_(file_, context_);
    file_ = {};
  }

 private:
  TakeFile take_;
  void* context_;
  MappedFile file_;
  uint64_t inode_ = 0;
  bool executable_ = false;
  char path_[PATH_MAX];
};

}  // namespace

bool for_each_mapped_file(TakeFile take, void* context) {
  // Raw system calls: libc's functions are cancellation points.
  const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  Files files(take, context);
  char text[2 * PATH_MAX];
  size_t kept = 0;
  for (;;) {
    const long got = syscall(SYS_read, fd, text + kept, sizeof text - kept);
    if (got <= 0) break;
    const char *at = text, *end = text + kept + got;
    for (;;) {
      const auto* line_end =
          static_cast<const char*>(memchr(at, '\n', static_cast<size_t>(end - at)));
      if (line_end == nullptr) break;
      files.add(parse(at, line_end));
      at = line_end + 1;
    }
    kept = static_cast<size_t>(end - at);
    if (kept == sizeof text) kept = 0;  // a line longer than the buffer; cannot happen
    memmove(text, at, kept);
  }
  files.finish();
  syscall(SYS_close, fd);
  return true;
}

}  // namespace sonde::cpu
