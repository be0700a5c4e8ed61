#include "record/announced.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/unique_fd.h"
#include "wire/decoder.h"

namespace sonde::record {

namespace {

constexpr uint64_t kMostBytes = 16 << 20;  // at a time

std::vector<std::byte> read_from(const std::string& path, uint64_t offset) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return {};
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size <= offset) return {};
  std::vector<std::byte> bytes(std::min(size - offset, kMostBytes));
  const ssize_t got = ::pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

}  // namespace

std::vector<Announcement> Announced::read_new() {
  std::vector<Announcement> found;
  const auto bytes = read_from(path_, offset_);
  uint64_t at = 0;
  while (at + sizeof(wire::ChunkStatus) <= bytes.size()) {
    Announcement item{};
    std::memcpy(&item.header, bytes.data() + at, sizeof item.header);
    // After a write that a full disk cut short, continue at the next magic.
    if (wire::judge_header(item.header) != wire::HeaderVerdict::kGood) {
      at += sizeof(uint64_t);
      continue;
    }
    const uint64_t begin = at + sizeof item.header, end = begin + item.header.committed;
    if (end > bytes.size()) break;  // the rest has not been written yet
    item.record.assign(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                       bytes.begin() + static_cast<std::ptrdiff_t>(end));
    if (wire::checksum(item.record.data(), item.record.size()) != item.header.payload_sum) {
      at += sizeof(uint64_t);
      continue;
    }
    found.push_back(std::move(item));
    at = end;
  }
  offset_ += at;
  return found;
}

}  // namespace sonde::record
