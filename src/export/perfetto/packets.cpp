#include "export/perfetto/packets.h"

namespace sonde::exporting {

namespace {
constexpr uint32_t kSequenceId = 10, kSequenceFlags = 13, kCompressedPackets = 50,
                   kFirstPacketOnSequence = 87;
constexpr uint64_t kStateClearedAndNeeded = 3;
}  // namespace

PacketStream::PacketStream(Sink& sink)
    : sink_(sink),
      block_(kBlockSize + (64 << 10)),
      packet_(kBlockSize),
      background_(ProtoBuffer(kBlockSize + (64 << 10)),
                  [this](ProtoBuffer& block) { write(block); }) {}

size_t PacketStream::begin_first_packet() {
  const size_t body = block_.begin(kPacket);
  block_.varint(kSequenceId, 1);
  block_.varint(kSequenceFlags, kStateClearedAndNeeded);
  block_.varint(kFirstPacketOnSequence, 1);
  return body;
}

void PacketStream::finish() {
  background_.finish();
  write(block_);
}

void PacketStream::write(ProtoBuffer& block) {
  if (block.size() == 0) return;
  packet_.clear();
  const size_t body = packet_.begin(kPacket);
  packet_.bytes(kCompressedPackets, compressor_.compress(block.view()));
  packet_.end(body);
  sink_.append(packet_.view());
  block.clear();
}

}  // namespace sonde::exporting
