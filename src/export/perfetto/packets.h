// PacketStream: the container of a .pftrace: packets of one sequence, gathered into compressed
// blocks, which a second thread compresses. The Perfetto exporter writes its packets with it.
//
// Each packet is `Trace.packet`; a block is a packet that holds the zlib stream of many. No packet
// comes near 512 KB, which Perfetto's own tools take as the limit.
#pragma once

#include <cstdint>
#include <string_view>

#include "export/output/background.h"
#include "export/output/protobuf.h"
#include "export/output/sink.h"
#include "export/output/zlib_block.h"
#include "export/perfetto/fields.h"

namespace sonde::exporting {

class PacketStream {
 public:
  explicit PacketStream(Sink& sink);

  // The block that is being filled; what is written while a Packet exists is in it.
  ProtoBuffer& out() { return block_; }
  // A packet of our sequence that relies on the interned texts and defaults before it.
  size_t begin_packet() {
    const size_t body = block_.begin(kPacket);
    block_.raw(kSequence);
    return body;
  }
  size_t begin_packet(int64_t time_ns) {
    const size_t body = begin_packet();
    block_.varint(kTimestamp, static_cast<uint64_t>(time_ns));
    return body;
  }
  void end_packet(size_t body) {
    block_.end(body);
    if (block_.size() >= kBlockSize) background_.give(block_);
  }
  // The packet that opens the sequence; nothing before it counts.
  size_t begin_first_packet();

  // After the last packet.
  void finish();

 private:
  static constexpr uint32_t kPacket = 1, kTimestamp = 8;
  static constexpr size_t kBlockSize = 256 << 10;
  // trusted_packet_sequence_id 1, sequence_flags NEEDS_INCREMENTAL_STATE
  static constexpr std::string_view kSequence = "\x50\x01\x68\x02";

  void write(ProtoBuffer& block);

  Sink& sink_;
  ProtoBuffer block_;
  ProtoBuffer packet_;  // this and below are the thread's
  ZlibBlock compressor_;
  Background<ProtoBuffer> background_;
};

// A packet with the one message that it holds.
class Packet : Pinned {
 public:
  Packet(PacketStream& stream, uint32_t field)
      : stream_(stream), body_(stream.begin_packet()), message_(stream.out().begin(field)) {}
  Packet(PacketStream& stream, uint32_t field, int64_t time_ns)
      : stream_(stream), body_(stream.begin_packet(time_ns)), message_(stream.out().begin(field)) {}
  ~Packet() noexcept(false) {  // as that of ProtoMessage
    stream_.out().end(message_);
    stream_.end_packet(body_);
  }

 private:
  PacketStream& stream_;
  const size_t body_, message_;
};

// An event of a track, in a packet of its own.
class TrackEvent : Pinned {
 public:
  TrackEvent(PacketStream& stream, uint64_t type, uint64_t track, int64_t time_ns)
      : packet_(stream, kTrackEvent, time_ns) {
    stream.out().varint(kType, type);
    stream.out().varint(kTrackUuid, track);
  }

 private:
  const Packet packet_;
};

// An entry of InternedData, in a packet of its own.
class InternedEntry : Pinned {
 public:
  InternedEntry(PacketStream& stream, InternField field, uint64_t iid)
      : packet_(stream, kInternedData), entry_(stream.out(), static_cast<uint32_t>(field)) {
    stream.out().varint(1, iid);
  }

 private:
  const Packet packet_;
  const ProtoMessage entry_;
};

}  // namespace sonde::exporting
