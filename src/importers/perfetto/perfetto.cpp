// Perfetto's protobuf traces (docs/formats.md): of Sonde, rocprofv3, ROCm Systems Profiler, and of
// every other program that writes track events or GPU render stages.
#include <memory>

#include "importers/importer.h"
#include "importers/perfetto/model.h"
#include "importers/perfetto/reader.h"

namespace sonde::importers {

namespace {

constexpr uint64_t kMaxPacketsToClock = 10'000;

// The fields of TracePacket that say what it is about; those of other formats that begin alike
// (XPlane's first message has 1 to 6) are not among them.
bool names_a_packet(uint32_t field, ProtoReader::Wire wire) {
  constexpr uint32_t kNumbers[] = {8, 10, 13, 41, 42, 58, 87, 3, 79, 98};
  constexpr uint32_t kMessages[] = {11, 33, 36, 43, 44, 45, 50, 52, 53, 59, 60, 69, 89, 128, 133};
  for (const uint32_t number : kNumbers) {
    if (field == number) return wire == ProtoReader::Wire::kVarint && number >= 8;
  }
  for (const uint32_t message : kMessages) {
    if (field == message) return wire == ProtoReader::Wire::kBytes;
  }
  return false;
}

Sure sniff(const Head& head) {
  std::string_view left = head.bytes;
  uint64_t key = 0, size = 0;
  if (!take_varint(left, key) || key != 10 || !take_varint(left, size)) return Sure::kNo;
  const bool whole = size <= left.size();
  ProtoReader packet(left.substr(0, size));
  bool named = false;
  while (packet.next()) named |= names_a_packet(packet.field(), packet.wire());
  // A large first packet may go on beyond what is seen of it.
  if (named && (whole || !packet.broken())) return packet.broken() ? Sure::kNo : Sure::kCertain;
  const bool called = head.path.find(".pftrace") != head.path.npos ||
                      head.path.find(".perfetto-trace") != head.path.npos;
  if (!whole) {
    // Compressed packets are one long field.
    std::string_view inside = left;
    uint64_t field = 0;
    if (take_varint(inside, field) && (field == (50u << 3 | 2) || field == (133u << 3 | 2))) {
      return Sure::kCertain;
    }
    return named || called ? Sure::kLikely : Sure::kNo;
  }
  return called ? Sure::kLikely : Sure::kNo;
}

Status read(Source& source, Sink& sink, Tally& tally) {
  const auto model = std::make_unique<PerfettoModel>();
  PerfettoReader reader(*model, sink.wants(), tally);
  PerfettoPackets packets(source, tally);
  std::string_view packet;
  for (;;) {
    SONDE_ASSIGN(const bool more, packets.next(packet));
    if (!more) break;
    reader.take(packet, packets);
  }
  if (packets.count() == 0) {
    return make_error(ErrorCode::kBadData, "not a Perfetto trace: it has no packets", source.path(),
                      "--as names another format");
  }
  reader.finish(source.path());
  model->tracks.settle();
  return write_perfetto(*model, source.path(), sink, tally);
}

Result<Clock> clock(Source& source) {
  Tally tally;
  PerfettoClocks clocks;
  PerfettoPackets packets(source, tally);
  std::string_view packet;
  while (packets.count() < kMaxPacketsToClock) {
    SONDE_ASSIGN(const bool more, packets.next(packet));
    if (!more) break;
    uint32_t sequence = 0;
    std::string_view snapshot;
    read_fields(packet, ProtoField{6, snapshot}, ProtoField{10, sequence});
    if (snapshot.empty()) continue;
    clocks.snapshot(sequence, snapshot);
    Clock clock{PerfettoClocks::name(clocks.trace_clock()), {}};
    if (clocks.trace_clock() == kPerfettoRealtime) clock.realtime_ns = 0;
    if (const auto reading = clocks.reading(kPerfettoRealtime)) {
      int64_t at_zero = 0;
      if (!__builtin_sub_overflow(reading->first, reading->second, &at_zero)) {
        clock.realtime_ns = at_zero;
      }
    }
    if (clock.realtime_ns) return clock;
  }
  return Clock{};
}

}  // namespace

Importer perfetto_importer() {
  return {"perfetto", "Perfetto's protobuf traces (.pftrace)", sniff, read, clock};
}

}  // namespace sonde::importers
