#include "importers/perfetto/reader.h"

#include <string>

namespace sonde::importers {

namespace {

// TracePacket
constexpr uint32_t kProcessTree = 2, kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10,
                   kTrackEvent = 11, kInternedData = 12, kSequenceFlags = 13, kOldStateCleared = 41,
                   kPacketDropped = 42, kThreadDescriptor = 44, kGpuCounter = 52, kRenderStage = 53,
                   kTimestampClock = 58, kDefaults = 59, kTrackDescriptor = 60, kGpuInfo = 128;
constexpr uint64_t kStateCleared = 1, kNeedsState = 2;
// TrackEvent
constexpr uint32_t kCategoryIid = 3, kAnnotation = 4, kLegacyEvent = 6, kType = 9, kNameIid = 10,
                   kTrackUuid = 11, kCategory = 22, kName = 23, kCounterValue = 30, kOldFlow = 36,
                   kOldFlowEnd = 42, kRealCounterValue = 44, kFlow = 47, kFlowEnd = 48,
                   kCallStack = 55, kCallStackIid = 56, kGpuCorrelation = 3000;

// What a packet may hold that is not data of the program: its own fields, and what the recorder
// says about itself.
bool about_the_recording(uint32_t field) {
  switch (field) {
    case kTimestamp:
    case kSequenceId:
    case kSequenceFlags:
    case kOldStateCleared:
    case kTimestampClock:
    case kPacketDropped:
    case 3:    // trusted_uid
    case 33:   // trace_config
    case 35:   // trace_stats
    case 36:   // synchronization_marker
    case 43:   // process_descriptor
    case 45:   // system_info
    case 69:   // service_event
    case 78:   // ui_state
    case 79:   // trusted_pid
    case 87:   // first_packet_on_sequence
    case 89:   // trace_uuid
    case 98:   // machine_id
    case 107:  // trace_provenance
      return true;
    default:
      return false;
  }
}

}  // namespace

void PerfettoReader::take(std::string_view bytes, const PerfettoPackets& packets) {
  uint32_t sequence_id = 0;
  uint64_t flags = 0, clock = 0;
  std::optional<uint64_t> time;
  bool cleared = false, dropped = false;
  std::string_view defaults, interned;
  std::vector<std::string_view> snapshots;
  ProtoReader reader =
      read_fields(bytes, ProtoField{kSequenceId, sequence_id}, ProtoField{kSequenceFlags, flags},
                  ProtoField{kOldStateCleared, cleared}, ProtoField{kTimestampClock, clock},
                  ProtoField{kTimestamp, time}, ProtoField{kDefaults, defaults},
                  ProtoField{kInternedData, interned}, ProtoField{kPacketDropped, dropped},
                  ProtoField{kClockSnapshot, snapshots});
  if (reader.broken()) tally_.repair("packets that are broken inside", packets.place());
  PerfettoSequence& sequence = sequences_[sequence_id];
  sequence.number = sequence_id;
  if (cleared || (flags & kStateCleared) != 0) sequence.clear();
  if (dropped && sequence.packets > 0) {
    tally_.repair("gaps where the recorder dropped packets", packets.place());
  }
  ++sequence.packets;
  if (!defaults.empty()) sequence.set_defaults(defaults);
  if (!interned.empty()) sequence.intern(interned, model_.pool);
  if ((flags & kNeedsState) != 0 && !sequence.cleared) {
    tally_.skip("packets that need data of their sequence that the file does not have",
                packets.place());
    return;
  }
  // Snapshots first: they may set the clock that the packet's own time is in.
  for (const std::string_view one : snapshots) model_.clocks.snapshot(sequence_id, one);
  if (clock == 0) clock = sequence.clock != 0 ? sequence.clock : kPerfettoBoottime;
  Packet packet{sequence, {}, clock, packets};
  bool has_body = false;
  reader = ProtoReader(bytes);
  while (reader.next()) {
    const uint32_t field = reader.field();
    if (about_the_recording(field) || field == kDefaults || field == kInternedData ||
        field == kClockSnapshot) {
      continue;
    }
    // An incremental clock advances with every packet that has a time.
    if (!has_body && time) packet.time_ns = model_.clocks.time(sequence_id, clock, *time);
    if (!has_body && time && !packet.time_ns) {
      tally_.skip("packets in a clock that nothing relates to the others", packets.place());
      return;
    }
    has_body = true;
    body(field, reader.bytes(), packet);
  }
}

void PerfettoReader::body(uint32_t field, std::string_view message, Packet& packet) {
  switch (field) {
    case kTrackEvent:
      return track_event(message, packet);
    case kRenderStage:
      return render_stage(message, packet);
    case kGpuCounter:
      return gpu_counters(message, packet);
    case kGpuInfo:
      return gpu_info(message);
    case kTrackDescriptor:
      return model_.tracks.describe(message);
    case kThreadDescriptor:
      return model_.tracks.sequence_thread(packet.sequence.number, message);
    case kProcessTree:
      return model_.tracks.process_tree(message);
    case 1:
      return tally_.skip("packets of the kernel's ftrace", packet.packets.place());
    case 54:
    case 66:
    case 135:
      return tally_.skip("samples of call stacks", packet.packets.place());
    default:
      return tally_.skip(
          "packets of a kind that is not imported (field " + std::to_string(field) + ")",
          packet.packets.place());
  }
}

bool PerfettoReader::timed(const Packet& packet) {
  if (packet.time_ns) return true;
  tally_.skip("events without a time", packet.packets.place());
  return false;
}

void PerfettoReader::track_event(std::string_view message, Packet& packet) {
  if (!timed(packet)) return;
  uint64_t type = 0;
  std::optional<uint64_t> uuid;
  std::optional<int64_t> integer;
  std::optional<double> real;
  std::optional<std::string_view> legacy;
  if (packet.sequence.track != 0) uuid = packet.sequence.track;
  read_fields(message, ProtoField{kType, type}, ProtoField{kTrackUuid, uuid},
              ProtoField{kCounterValue, integer}, ProtoField{kRealCounterValue, real},
              ProtoField{kLegacyEvent, legacy});
  extra_counters(message, packet);
  if (type == 4) {
    if (integer) real = static_cast<double>(*integer);
    if (real) return counter(uuid.value_or(0), *real, packet);
    return tally_.skip("counter events without a value", packet.packets.place());
  }
  if (type < 1 || type > 3) {
    return tally_.skip(legacy ? "events in Chrome's older form" : "events of an unknown type",
                       packet.packets.place());
  }
  PerfettoEvent event;
  event.time_ns = *packet.time_ns;
  event.type = static_cast<PerfettoEvent::Type>(type);
  event.track =
      uuid ? model_.tracks.index(*uuid) : model_.tracks.sequence_track(packet.sequence.number);
  if (type != 2) slice(message, event, packet);
  model_.events.push_back(event);
}

void PerfettoReader::slice(std::string_view message, PerfettoEvent& event, Packet& packet) {
  PerfettoSequence& sequence = packet.sequence;
  bool category = false;
  ProtoReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case kNameIid:
        event.name = sequence.text(PerfettoSequence::kEventName, reader.number());
        break;
      case kName:
        event.name = model_.pool.id(reader.bytes());
        break;
      case kCategoryIid:
        if (!category) event.category = sequence.text(PerfettoSequence::kCategory, reader.number());
        category = true;
        break;
      case kCategory:
        if (!category) event.category = model_.pool.id(reader.bytes());
        category = true;
        break;
      default:
        break;
    }
  }
  PerfettoDetail made;
  if (!detail(message, event.category, packet, made)) return;
  event.detail = static_cast<uint32_t>(model_.details.size());
  model_.details.push_back(made);
}

// Whether there is any.
bool PerfettoReader::detail(std::string_view message, uint32_t category, Packet& packet,
                            PerfettoDetail& made) {
  args_.clear();
  made.flows = static_cast<uint32_t>(model_.flows.size());
  made.submits = static_cast<uint32_t>(model_.submitted.size());
  made.stack = static_cast<uint32_t>(model_.frames.size());
  ProtoReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case kAnnotation:
        args_.add(packet.sequence, model_.pool, reader.bytes());
        break;
      case kFlow:
      case kOldFlow:
        model_.flows.push_back({reader.number(), false});
        break;
      case kFlowEnd:
      case kOldFlowEnd:
        model_.flows.push_back({reader.number(), true});
        break;
      case kGpuCorrelation:
        read_fields(reader.bytes(), ProtoField{1, model_.submitted});
        break;
      case kCallStack:
        call_stack(reader.bytes());
        break;
      case kCallStackIid: {
        const auto stack = packet.sequence.call_stacks.find(reader.number());
        if (stack == packet.sequence.call_stacks.end()) break;
        model_.frames.insert(model_.frames.end(), stack->second.begin(), stack->second.end());
        break;
      }
      default:
        break;
    }
  }
  args_.finish();
  made.stack_size = static_cast<uint32_t>(model_.frames.size()) - made.stack;
  made.flow_count = static_cast<uint32_t>(model_.flows.size()) - made.flows;
  made.submit_count = static_cast<uint32_t>(model_.submitted.size()) - made.submits;
  made.marker = args_.marker;
  const PerfettoCategory::Kind kind = perfetto_category(model_.pool.at(category)).kind;
  if (kind != PerfettoCategory::Kind::kMarker &&
      (kind != PerfettoCategory::Kind::kCall || args_.facts.correlation > 0)) {
    made.facts = static_cast<uint32_t>(model_.facts.size());
    model_.facts.push_back(args_.facts);
  }
  if (wants_.args && !args_.text.empty()) {
    made.text = model_.arguments.size();
    made.text_size = static_cast<uint32_t>(args_.text.size());
    model_.arguments += args_.text;
  }
  return made.text_size > 0 || made.facts != kNoDetail || made.flow_count > 0 ||
         made.submit_count > 0 || made.stack_size > 0 || made.marker;
}

// Callstack of a track event: frames = 1 {function_name = 1}, outermost first.
void PerfettoReader::call_stack(std::string_view message) {
  std::vector<std::string_view> frames;
  read_fields(message, ProtoField{1, frames});
  for (const std::string_view frame : frames) model_.frames.push_back(text_in(frame));
}

uint32_t PerfettoReader::text_in(std::string_view message) {
  std::string_view text;
  read_fields(message, ProtoField{1, text});
  return model_.pool.id(text);
}

void PerfettoReader::counter(uint64_t uuid, double value, const Packet& packet) {
  if (!wants_.others && !wants_.sensors) return;
  const uint32_t track = model_.tracks.index(uuid);
  const PerfettoTrack& described = model_.tracks.at(track);
  value *= static_cast<double>(described.unit_multiplier);
  if (described.incremental) value = sums_[track] += value;
  model_.counters.push_back({*packet.time_ns, track, value});
}

// Values that ride on a slice: field 12 on the tracks of field 31, 46 on those of 45.
void PerfettoReader::extra_counters(std::string_view message, const Packet& packet) {
  std::vector<uint64_t> tracks, real_tracks;
  std::vector<int64_t> values;
  std::vector<double> real_values;
  read_fields(message, ProtoField{31, tracks}, ProtoField{45, real_tracks}, ProtoField{12, values},
              ProtoField{46, real_values});
  if (tracks.empty()) tracks = packet.sequence.counter_tracks;
  if (real_tracks.empty()) real_tracks = packet.sequence.real_counter_tracks;
  for (size_t i = 0; i < values.size() && i < tracks.size(); ++i) {
    counter(tracks[i], static_cast<double>(values[i]), packet);
  }
  for (size_t i = 0; i < real_values.size() && i < real_tracks.size(); ++i) {
    counter(real_tracks[i], real_values[i], packet);
  }
}

void PerfettoReader::finish(const std::string& path) {
  uint64_t unknown = 0;
  for (const auto& [id, sequence] : sequences_) unknown += sequence.unknown_iids;
  tally_.repair("texts that the file refers to but does not have", path, unknown);
  tally_.repair("texts that are not valid UTF-8", path, model_.pool.repaired());
}

}  // namespace sonde::importers
