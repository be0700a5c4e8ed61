#include "agent/announce.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/definitions.h"
#include "agent/state.h"
#include "base/uncancelled.h"
#include "wire/clocks.h"
#include "wire/processes.h"

namespace sonde::agent {

namespace {

// "executable\0directory\0argument\0argument\0..." into `text`; returns its length.
size_t describe_process(char* text, size_t size) {
  size_t length = 0;
  const ssize_t executable = readlink("/proc/self/exe", text, size / 4);
  length += executable > 0 ? static_cast<size_t>(executable) : 0;
  text[length++] = '\0';
  if (getcwd(text + length, size / 4) != nullptr) length += strlen(text + length);
  text[length++] = '\0';
  if (const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC); fd >= 0) {
    for (;;) {
      const ssize_t got = length < size ? read(fd, text + length, size - length) : 0;
      if (got <= 0) break;
      length += static_cast<size_t>(got);
    }
    close(fd);
  }
  return length;
}

// In one write, so that no two processes' announcements mix.
bool append_announcement(const void* announcement, uint64_t bytes) {
  rlimit limit;  // on file size; a write beyond it kills the program
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return false;
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/%s", g_paths.session, wire::kProcessesFile);
  const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t written = write(fd, announcement, bytes);
  close(fd);
  return written == static_cast<ssize_t>(bytes);
}

void fill_header(wire::ChunkStatus& header) {
  header.magic = wire::kChunkMagic;
  header.version = wire::kWireVersion;
  header.chunk_bytes = wire::kChunkBytes;
  header.spool = g_state.spool;
  header.pid = g_state.pid;
  header.clock = g_state.clock;
  header.opened = wire::read_clocks(g_state.clock);
  header.identity_sum = wire::identity_checksum(header);
}

}  // namespace

bool in_other_namespace() {
  const uint64_t recorders = g_state.control->pid_namespace;
  struct stat info;
  return recorders != 0 && file_status(AT_FDCWD, "/proc/self/ns/pid", info) &&
         info.st_ino != recorders;
}

Description& describe() {
  static Description description;
  wire::ProcessRecord& record = description.record;
  record.header = {wire::RecordType::kProcess, 0, 0, static_cast<uint32_t>(getpid())};
  record.parent_pid = static_cast<uint32_t>(getppid());
  record.start_ticks = g_state.start_ticks;
  record.forked = g_state.forked;
  record.text_bytes = static_cast<uint32_t>(
      describe_process(description.text, sizeof description.text - sizeof(uint64_t)));
  memset(description.text + record.text_bytes, 0, sizeof(uint64_t));  // padding of the last word
  record.header.words = static_cast<uint16_t>(wire::words_for(sizeof record + record.text_bytes));
  return description;
}

void name_spool() {
  g_state.spool = static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC)) << 1 | 1;
  g_state.pid = static_cast<uint32_t>(getpid());
}

bool announce_process() {
  // The recorder cannot look at a process whose pid means nothing to it, and knows by its chunks
  // that it runs. Without a reader, only the limit on chunks bounds what is written.
  if (in_other_namespace() || load(g_state.control->orphaned) != 0) return false;
  Description& description = describe();
  name_spool();
  wire::ChunkStatus& header = description.header;
  fill_header(header);
  header.committed = uint64_t{description.record.header.words} * 8;
  header.payload_sum = wire::checksum(&description.record, header.committed);
  const uint64_t bytes = sizeof header + header.committed;
  if (append_announcement(&description, bytes)) g_state.announced = 1;
  return g_state.announced != 0;
}

// By the pid: not in a child that shares this process' memory, or that has recorded nothing yet.
void tell_end() {
  if (load(g_state.silent) != 0 || load(g_state.control->closed) != 0) return;
  if (static_cast<uint32_t>(getpid()) != g_state.pid || is_new_child()) return;
  const ErrnoKeeper keep;
  const Uncancelled uncancelled;
  if (load(g_state.has_spool) != 0) {
    if (const Inside inside; inside) note_alive();
  } else if (g_state.announced != 0) {
    static wire::ChunkStatus header;
    fill_header(header);
    header.payload_sum = wire::checksum(&header, 0);
    append_announcement(&header, sizeof header);
  }
}

}  // namespace sonde::agent
