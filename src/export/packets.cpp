#include "export/packets.h"

#include <zlib.h>

#include "base/check.h"

namespace sonde::exporting {

namespace {
constexpr uint32_t kSequenceId = 10, kSequenceFlags = 13, kCompressedPackets = 50,
                   kFirstPacketOnSequence = 87;
constexpr uint64_t kStateClearedAndNeeded = 3;
}  // namespace

struct PacketStream::Deflater {
  z_stream stream = {};
  std::vector<char> out;
  Deflater() {
    SONDE_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS, 9,
                             Z_DEFAULT_STRATEGY) == Z_OK);
  }
  ~Deflater() { deflateEnd(&stream); }
};

PacketStream::PacketStream(Sink& sink)
    : sink_(sink), block_(kBlockSize + (64 << 10)), packet_(kBlockSize),
      deflater_(std::make_unique<Deflater>()) {}

PacketStream::~PacketStream() = default;

size_t PacketStream::begin_first_packet() {
  const size_t body = block_.begin(kPacket);
  block_.varint(kSequenceId, 1);
  block_.varint(kSequenceFlags, kStateClearedAndNeeded);
  block_.varint(kFirstPacketOnSequence, 1);
  return body;
}

void PacketStream::flush() {
  if (block_.size() == 0) return;
  z_stream& stream = deflater_->stream;
  std::vector<char>& out = deflater_->out;
  out.resize(deflateBound(&stream, block_.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block_.view().data()));
  stream.avail_in = static_cast<uInt>(block_.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  SONDE_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);  // the bound makes it fit
  packet_.clear();
  const size_t body = packet_.begin(kPacket);
  packet_.bytes(kCompressedPackets, {out.data(), out.size() - stream.avail_out});
  packet_.end(body);
  sink_.append(packet_.view());
  deflateReset(&stream);
  block_.clear();
}

}  // namespace sonde::exporting
