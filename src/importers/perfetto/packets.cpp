#include "importers/perfetto/packets.h"

#include "base/unpack_limit.h"
#include "store/unpack.h"

namespace sonde::importers {

namespace {

constexpr size_t kPiece = 256 * 1024;
// Perfetto's own packets stay below 512 KB, and so do the blocks that it compresses.
constexpr size_t kMaxPacket = size_t{256} << 20;
constexpr uint32_t kPacket = 1, kCompressedPackets = 50, kZstdCompressedPackets = 133;

// The compressed packets in `packet`; "" if it has none.
std::string_view compressed_part(std::string_view packet, uint32_t& field) {
  ProtoReader reader(packet);
  // They are alone in their packet, or after the little that the service adds to it.
  for (int i = 0; i < 8 && reader.next(); ++i) {
    field = reader.field();
    if (field == kCompressedPackets || field == kZstdCompressedPackets) return reader.bytes();
  }
  return {};
}

}  // namespace

std::string PerfettoPackets::place() const {
  return source_.path() + ", packet " + std::to_string(count_);
}

bool PerfettoPackets::broken(const char* what) {
  tally_.repair(what, place());
  at_end_ = true;
  buffer_.clear();
  begin_ = 0;
  return false;
}

bool PerfettoPackets::cut_off() {
  tally_.skip("packets cut off by the end of the file", place());
  buffer_.clear();
  begin_ = 0;
  return false;
}

// Whether `wanted` bytes are in the buffer.
Result<bool> PerfettoPackets::fill(size_t wanted) {
  while (buffer_.size() - begin_ < wanted && !at_end_) {
    if (begin_ > 0) {
      buffer_.erase(0, begin_);
      begin_ = 0;
    }
    const size_t used = buffer_.size();
    buffer_.resize(used + kPiece);
    SONDE_ASSIGN(const size_t got, source_.read(buffer_.data() + used, kPiece));
    buffer_.resize(used + got);
    at_end_ = got == 0;
  }
  return buffer_.size() - begin_ >= wanted;
}

Result<bool> PerfettoPackets::next_outer(std::string_view& packet) {
  for (;;) {
    constexpr size_t kLongestHead = 20;
    SONDE_TRY(fill(kLongestHead));
    std::string_view left = std::string_view(buffer_).substr(begin_);
    if (left.empty()) return false;
    const size_t before = left.size();
    uint64_t key = 0, size = 0;
    const bool head = take_varint(left, key) && take_varint(left, size);
    if (!head || (key & 7) != 2 || key >> 3 == 0 || size > kMaxPacket) {
      if (!head && at_end_ && before < kLongestHead) return cut_off();
      return broken("place where the file is broken: what comes after it is missing");
    }
    const size_t head_size = before - left.size();
    SONDE_ASSIGN(const bool whole, fill(head_size + size));
    ++count_;
    if (!whole) return cut_off();
    packet = std::string_view(buffer_).substr(begin_ + head_size, size);
    begin_ += head_size + size;
    if (key >> 3 == kPacket) return true;
    tally_.skip("parts that are not packets", place());
  }
}

Status PerfettoPackets::unpack(uint32_t field, std::string_view compressed) {
  unpacked_.clear();
  compressed_bytes_ += compressed.size();
  const auto unpacker = field == kCompressedPackets ? store::Unpacker::for_zlib()
                                                    : store::Unpacker::for_stream(compressed);
  bool good = unpacker != nullptr;
  while (good && !unpacker->complete()) {
    const size_t used = unpacked_.size();
    const size_t before = compressed.size();
    unpacked_.resize(used + kPiece);
    const size_t made = unpacker->unpack(compressed, unpacked_.data() + used, kPiece);
    unpacked_.resize(used + made);
    unpacked_bytes_ += made;
    SONDE_TRY(UnpackLimit(source_.path()).check(compressed_bytes_, unpacked_bytes_));
    good = unpacker->error().empty() && unpacked_.size() <= kMaxPacket &&
           (made > 0 || compressed.size() < before || unpacker->complete());
  }
  if (!good) {
    tally_.repair("compressed packets that cannot be unpacked to their end", place());
  }
  inner_ = ProtoReader(unpacked_);
  return ok_status();
}

Result<bool> PerfettoPackets::next(std::string_view& packet) {
  uint32_t field = 0;
  for (;;) {
    while (inner_.next()) {
      ++count_;
      packet = inner_.bytes();
      if (inner_.field() == kPacket && compressed_part(packet, field).empty()) return true;
      tally_.skip("parts of compressed packets that are not packets", place());
    }
    if (inner_.broken()) {
      tally_.skip("packets cut off by the end of a compressed one", place());
      inner_ = ProtoReader({});
    }
    SONDE_ASSIGN(const bool more, next_outer(packet));
    if (!more) return false;
    const std::string_view compressed = compressed_part(packet, field);
    if (compressed.empty()) return true;
    SONDE_TRY(unpack(field, compressed));
  }
}

}  // namespace sonde::importers
