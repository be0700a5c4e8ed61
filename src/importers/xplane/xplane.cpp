// xplane.pb of JAX, XLA and TensorFlow (docs/formats.md): planes of devices and of the host, with
// lines of events whose names and properties are numbers.

#include "base/number.h"
#include "base/strings.h"
#include "importers/importer.h"
#include "importers/input/copy_type.h"
#include "importers/input/proto_reader.h"
#include "importers/sink/call_table.h"
#include "importers/xplane/space.h"

namespace sonde::importers {

namespace {

constexpr std::string_view kDevicePrefix = "/device:";
constexpr std::string_view kStreamPrefix = "Stream #";
constexpr std::string_view kCopy = "Copy";  // of no direction
constexpr int64_t kFirstLineTid = -1000;    // of lines that are not threads
// Times of the day in ns are beyond this since 2001.
constexpr int64_t kSurelyRealtimeNs = 1'000'000'000'000'000'000;
constexpr size_t kMostBytes = size_t{8} << 30;

Sure sniff(const Head& head) {
  const bool called = head.path.find(".xplane.pb") != head.path.npos;
  std::string_view left = head.bytes;
  uint64_t key = 0, size = 0;
  if (!take_varint(left, key) || key != 10 || !take_varint(left, size)) return Sure::kNo;
  ProtoReader plane(left.substr(0, size));
  for (int i = 0; i < 2 && plane.next(); ++i) {
    if (plane.field() == 2 &&
        starts_with_any(plane.bytes(), {kDevicePrefix, "/host:", "Task Environment"})) {
      return Sure::kCertain;
    }
  }
  return called ? Sure::kLikely : Sure::kNo;
}

// 17 of "Stream #17(Kernel)", 2 of "/device:GPU:2"; -1 if there is none.
int64_t number_at_end_of(std::string_view text, std::string_view prefix) {
  const size_t at = text.find_first_of("0123456789", prefix.size());
  if (at == text.npos) return -1;
  text.remove_prefix(at);
  return take_number<int64_t>(text).value_or(-1);
}

// What the event says. XLA names a stream after all kinds of events on it, "Stream #20(MemcpyD2H,
// MemcpyH2D)", so that says what a copy is only if it has one kind.
std::string_view direction_of(std::string_view event, std::string_view line) {
  std::string_view said = copy_type(event);
  if (said != kCopy) return said;
  for (const std::string_view part : split(line, ',')) {
    const std::string_view type = copy_type(part);
    if (type == kCopy || type == said) continue;
    if (said != kCopy) return kCopy;
    said = type;
  }
  return said;
}

// The value of "size" in "kind:Unknown size:655360 dest:2"; "" if there is none.
std::string_view detail(std::string_view details, std::string_view key) {
  for (const std::string_view word : split(details, ' ')) {
    if (word.size() > key.size() && word.substr(0, key.size()) == key && word[key.size()] == ':') {
      return word.substr(key.size() + 1);
    }
  }
  return {};
}

void take_axes(std::string_view text, int64_t (&axes)[3]) {
  const auto parts = split(text, ',');
  if (parts.size() != 3) return;
  for (size_t i = 0; i < 3; ++i) axes[i] = parse_int(parts[i]).value_or(-1);
}

// The stats of an event: as JSON, and those that say what an operation is.
struct Stats {
  std::string json, kernel;
  std::optional<std::string> copy, fill;
  int64_t correlation = -1;

  void add(const XStat& stat) {
    json += json.empty() ? "{" : ",";
    json += json_quote(stat.name) + ":" + (stat.quoted ? json_quote(stat.text) : stat.text);
    if (stat.text.empty() && !stat.quoted) json += "null";
    if (stat.name == "kernel_details") kernel = stat.text;
    if (stat.name == "memcpy_details") copy = stat.text;
    if (stat.name == "memset_details") fill = stat.text;
    if (stat.name == "correlation_id") correlation = stat.number;
  }
};

class SpaceReader {
 public:
  SpaceReader(const std::string& path, Sink& sink, Tally& tally)
      : path_(path), sink_(sink), tally_(tally) {}

  Status read(const XSpace& space) {
    process_ = sink_.process(0);
    sink_.describe(process_, {.host = space.host});
    for (const std::string& problem : space.problems)
      tally_.remark("the profiler says: " + problem);
    // Calls first: operations name theirs.
    std::vector<std::string_view> devices;
    for (const std::string_view message : space.planes) {
      if (is_device(message)) {
        devices.push_back(message);
      } else {
        plane(message);
      }
      SONDE_TRY(sink_.status());
    }
    for (const std::string_view message : devices) {
      plane(message);
      SONDE_TRY(sink_.status());
    }
    return sink_.status();
  }

 private:
  static bool is_device(std::string_view message) {
    ProtoReader reader(message);
    while (reader.next()) {
      if (reader.field() == 2) return starts_with_any(reader.bytes(), {kDevicePrefix});
    }
    return false;
  }

  void plane(std::string_view message);
  void describe(const XPlane& plane);
  bool times(const XLine& line, const XEvent& event, int64_t& start_ns, int64_t& end_ns);
  void call(const XPlane& plane, const XLine& line, int64_t tid, const XEvent& event);
  void operation(const XPlane& plane, const XLine& line, const XEvent& event);
  Name name_of(const XPlane& plane, const XEvent& event);
  Stats stats_of(const XPlane& plane, const XEvent& event);

  const std::string& path_;
  Sink& sink_;
  Tally& tally_;
  int64_t process_ = 0, gpu_ = 0, next_line_tid_ = kFirstLineTid;
  bool nvidia_ = false;
  CallTable calls_;
};

void SpaceReader::plane(std::string_view message) {
  const XPlane plane = read_xplane(message, path_, tally_);
  const bool device = starts_with_any(plane.name, {kDevicePrefix});
  describe(plane);
  std::vector<XLine> lines;
  bool streams = false;
  for (const std::string_view line : plane.lines) {
    lines.push_back(read_xline(line, path_, tally_));
    streams |= starts_with_any(lines.back().name, {kStreamPrefix});
  }
  for (const XLine& line : lines) {
    // Devices without streams run the operations of XLA themselves.
    const bool operations =
        device && (streams ? starts_with_any(line.name, {kStreamPrefix})
                           : line.name == "XLA Ops" || line.name == "Async XLA Ops");
    const int64_t tid = device ? --next_line_tid_ : line.id;
    if (!operations) {
      sink_.thread(process_, tid, device ? plane.name + " " + line.name : line.name);
    }
    for (const std::string_view one : line.events) {
      const XEvent event = read_xevent(one, path_, tally_);
      operations ? operation(plane, line, event) : call(plane, line, tid, event);
    }
  }
}

// Device facts by their place; all other stats of planes are notes.
void SpaceReader::describe(const XPlane& plane) {
  const bool is_device_plane = starts_with_any(plane.name, {kDevicePrefix});
  Device device;
  std::string vendor, model;
  for (const std::string_view message : plane.stats) {
    const XStat stat = read_xstat(message, plane);
    if (stat.name == "device_vendor") vendor = stat.text;
    if (stat.name == "device_type_string") model = stat.text;
    if (stat.name == "core_count") device.compute_units = stat.number;
    if (stat.name == "memory_size") device.memory_bytes = stat.number;
    if (stat.name == "clock_rate" && stat.number > 0) device.clock_mhz = stat.number / 1000;
    sink_.note(0, plane.name + ": " + valid_utf8(stat.name), stat.text);
  }
  if (!is_device_plane) return;
  gpu_ = std::max<int64_t>(number_at_end_of(plane.name, kDevicePrefix), 0);
  nvidia_ = starts_with_any(vendor, {"Nvidia", "NVIDIA"});
  device.process = process_;
  device.gpu = gpu_;
  device.vendor = vendor;
  device.name = model.empty() ? std::string_view(plane.name) : model;
  device.backend = vendor == "AMD" ? "hip" : nvidia_ ? "cuda" : "";
  device.kind = plane.name.find("GPU") != plane.name.npos ? "gpu" : "accelerator";
  sink_.device(device);
}

// line.timestamp_ns * 1000 + offset_ps, in picoseconds; rounded to the nearest nanosecond.
bool SpaceReader::times(const XLine& line, const XEvent& event, int64_t& start_ns,
                        int64_t& end_ns) {
  if (event.is_count) {
    tally_.skip("events that say only how often something happened", path_);
    return false;
  }
  const auto add = [](int64_t ns, __int128 ps, int64_t& sum) {
    const __int128 rounded = (ps >= 0 ? ps + 500 : ps - 500) / 1000 + ns;
    sum = static_cast<int64_t>(rounded);
    return rounded == sum;
  };
  if (event.duration_ps < 0) {
    tally_.skip("events that end before they start", path_);
    return false;
  }
  if (!add(line.timestamp_ns, event.offset_ps, start_ns) ||
      !add(line.timestamp_ns, static_cast<__int128>(event.offset_ps) + event.duration_ps, end_ns)) {
    tally_.skip("events of impossible times", path_);
    return false;
  }
  return true;
}

Name SpaceReader::name_of(const XPlane& plane, const XEvent& event) {
  const auto found = plane.events.find(event.metadata_id);
  if (found == plane.events.end()) {
    tally_.repair("events whose name the file does not have", path_);
    return 0;
  }
  const XEventMetadata& metadata = found->second;
  return sink_.name(valid_utf8(metadata.name.empty() ? metadata.display_name : metadata.name));
}

Stats SpaceReader::stats_of(const XPlane& plane, const XEvent& event) {
  Stats stats;
  for (const std::string_view message : event.stats) stats.add(read_xstat(message, plane));
  if (const auto found = plane.events.find(event.metadata_id); found != plane.events.end()) {
    for (const std::string_view message : found->second.stats) {
      stats.add(read_xstat(message, plane));
    }
  }
  if (!stats.json.empty()) stats.json += '}';
  return stats;
}

void SpaceReader::call(const XPlane& plane, const XLine& line, int64_t tid, const XEvent& event) {
  Api row;
  if (!times(line, event, row.start_ns, row.end_ns)) return;
  const Stats stats = stats_of(plane, event);
  const bool device = starts_with_any(plane.name, {kDevicePrefix});
  row.process = process_;
  row.tid = tid;
  row.name = name_of(plane, event);
  row.category = sink_.name(device ? line.name : plane.name);
  if (plane.name.find("python") != plane.name.npos) row.domain = sink_.name("python");
  row.args = stats.json;
  const int64_t api = sink_.api(row);
  if (!device && stats.correlation > 0) {
    calls_.add({process_, stats.correlation, row.start_ns, row.end_ns, api});
  }
  tally_.count(plane.name);
}

void SpaceReader::operation(const XPlane& plane, const XLine& line, const XEvent& event) {
  Op op;
  if (!times(line, event, op.start_ns, op.end_ns)) return;
  const Stats stats = stats_of(plane, event);
  const Name name = name_of(plane, event);
  const auto metadata = plane.events.find(event.metadata_id);
  const std::string_view text =
      metadata == plane.events.end() ? std::string_view() : metadata->second.name;
  op.gpu = gpu_;
  op.queue = std::max<int64_t>(number_at_end_of(line.name, kStreamPrefix), 0);
  op.args = stats.json;
  Launch launch;
  launch.op_class = stats.copy   ? store::OpClass::kCopy
                    : stats.fill ? store::OpClass::kFill
                                 : store::OpClass::kKernel;
  op.type = sink_.name(stats.copy   ? direction_of(text, line.name)
                       : stats.fill ? "FillBuffer"
                                    : "KernelExecution");
  if (launch.op_class == store::OpClass::kKernel) op.name = name;
  launch.name = op.name;
  launch.op = sink_.op(op);
  launch.api = calls_.find(process_, stats.correlation, op.start_ns);
  launch.process = process_;
  const auto number = [](std::string_view value) { return parse_int(value).value_or(-1); };
  if (stats.copy) launch.bytes = number(detail(*stats.copy, "size"));
  if (stats.fill) launch.bytes = number(detail(*stats.fill, "size"));
  take_axes(detail(stats.kernel, "block"), launch.group);
  launch.group_segment_bytes = number(detail(stats.kernel, "group_mem"));
  launch.private_segment_bytes = number(detail(stats.kernel, "private_mem"));
  // CUDA's grid counts work groups. What AMD's counts depends on the call, which is not said.
  int64_t groups[3] = {-1, -1, -1};
  if (nvidia_) take_axes(detail(stats.kernel, "grid"), groups);
  for (int i = 0; i < 3 && groups[0] > 0 && launch.group[0] > 0; ++i) {
    if (__builtin_mul_overflow(groups[i], launch.group[i], &launch.grid[i])) launch.grid[i] = -1;
  }
  sink_.launch(launch);
  tally_.count(plane.name);
}

Status read(Source& source, Sink& sink, Tally& tally) {
  SONDE_ASSIGN(const std::string file, source.read_all(kMostBytes));
  const XSpace space = read_xspace(file, source.path(), tally);
  if (space.planes.empty()) {
    return make_error(ErrorCode::kBadData, "not an XPlane trace: it has no planes", source.path(),
                      "--as names another format");
  }
  return SpaceReader(source.path(), sink, tally).read(space);
}

// Times count from the profile's start, where the file says when that was, or are of the day.
Result<Clock> clock(Source& source) {
  SONDE_ASSIGN(const std::string file, source.read_all(kMostBytes));
  Tally tally;
  int64_t first_ns = 0, profile_start_ns = 0;
  for (const std::string_view message : read_xspace(file, source.path(), tally).planes) {
    const XPlane plane = read_xplane(message, source.path(), tally);
    for (const std::string_view line : plane.lines) {
      if (first_ns == 0) first_ns = read_xline(line, source.path(), tally).timestamp_ns;
    }
    for (const std::string_view stat : plane.stats) {
      const XStat value = read_xstat(stat, plane);
      if (value.name == "profile_start_time") profile_start_ns = value.number;
    }
  }
  if (first_ns > kSurelyRealtimeNs) return Clock{"realtime", 0};
  if (profile_start_ns > kSurelyRealtimeNs) return Clock{"realtime", profile_start_ns};
  return Clock{};
}

}  // namespace

Importer xplane_importer() {
  return {"xplane", "xplane.pb of JAX, XLA and TensorFlow", sniff, read, clock};
}

}  // namespace sonde::importers
