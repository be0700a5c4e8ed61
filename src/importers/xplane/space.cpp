#include "importers/xplane/space.h"

#include <fmt/format.h>

#include <cmath>

#include "base/strings.h"
#include "base/value_or.h"
#include "importers/input/proto_reader.h"

namespace sonde::importers {

namespace {

void note_broken(const ProtoReader& reader, std::string_view place, Tally& tally) {
  if (reader.broken()) tally.repair("messages that are broken or cut off inside", place);
}

// An entry of a map: {key = 1, value = 2}.
std::pair<int64_t, std::string_view> map_entry(std::string_view message) {
  std::pair<int64_t, std::string_view> entry{0, {}};
  read_fields(message, ProtoField{1, entry.first}, ProtoField{2, entry.second});
  return entry;
}

XEventMetadata event_metadata(std::string_view message) {
  XEventMetadata made;
  read_fields(message, ProtoField{2, made.name}, ProtoField{4, made.display_name},
              ProtoField{5, made.stats});
  return made;
}

}  // namespace

XSpace read_xspace(std::string_view file, std::string_view place, Tally& tally) {
  XSpace space;
  std::string_view left = file;
  while (!left.empty()) {
    uint64_t key = 0, size = 0;
    const bool head = take_varint(left, key) && take_varint(left, size);
    if (!head || (key & 7) != 2) {
      tally.repair("place where the file is broken: what comes after it is missing", place);
      break;
    }
    // A plane that is cut off has lines, but perhaps not the names of their events.
    if (size > left.size()) tally.repair("planes cut off by the end of the file", place);
    const std::string_view body = left.substr(0, size);
    left.remove_prefix(body.size());
    if (key >> 3 == 1) space.planes.push_back(body);
    if (key >> 3 == 2 || key >> 3 == 3) space.problems.push_back(valid_utf8(body));
    if (key >> 3 == 4 && space.host.empty()) space.host = valid_utf8(body);
  }
  return space;
}

XPlane read_xplane(std::string_view message, std::string_view place, Tally& tally) {
  XPlane plane;
  ProtoReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case 2:
        plane.name = valid_utf8(reader.bytes());
        break;
      case 3:
        plane.lines.push_back(reader.bytes());
        break;
      case 4: {
        const auto [id, value] = map_entry(reader.bytes());
        plane.events[id] = event_metadata(value);
        break;
      }
      case 5: {
        const auto [id, value] = map_entry(reader.bytes());
        read_fields(value, ProtoField{2, plane.stat_names[id]});
        break;
      }
      case 6:
        plane.stats.push_back(reader.bytes());
        break;
      default:
        break;
    }
  }
  if (reader.broken() && reader.field() == 3 && !reader.cut().empty()) {
    plane.lines.push_back(reader.cut());
  }
  note_broken(reader, place, tally);
  return plane;
}

XLine read_xline(std::string_view message, std::string_view place, Tally& tally) {
  XLine line;
  std::string_view name, display_name;
  note_broken(read_fields(message, ProtoField{1, line.id}, ProtoField{2, name},
                          ProtoField{3, line.timestamp_ns}, ProtoField{4, line.events},
                          ProtoField{11, display_name}),
              place, tally);
  line.name = valid_utf8(name.empty() ? display_name : name);
  return line;
}

XEvent read_xevent(std::string_view message, std::string_view place, Tally& tally) {
  XEvent event;
  std::optional<int64_t> occurrences;
  note_broken(read_fields(message, ProtoField{1, event.metadata_id}, ProtoField{2, event.offset_ps},
                          ProtoField{3, event.duration_ps}, ProtoField{4, event.stats},
                          ProtoField{5, occurrences}),
              place, tally);
  event.is_count = occurrences.has_value();
  return event;
}

// 2 double, 3 unsigned, 4 signed, 5 text, 6 bytes, 7 the id of a name that is the text
XStat read_xstat(std::string_view message, const XPlane& plane) {
  const auto name_of = [&](int64_t id) { return value_or(plane.stat_names, id); };
  XStat stat;
  ProtoReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        stat.name = name_of(reader.integer());
        break;
      case 2:
        stat.text = std::isfinite(reader.real()) ? fmt::format("{}", reader.real()) : "null";
        break;
      case 3:
        stat.number = reader.integer();
        stat.text = std::to_string(reader.number());
        break;
      case 4:
        stat.number = reader.integer();
        stat.text = std::to_string(stat.number);
        break;
      case 5:
        stat.text = valid_utf8(reader.bytes());
        stat.quoted = true;
        break;
      case 6:
        stat.text = fmt::format("({} bytes)", reader.bytes().size());
        stat.quoted = true;
        break;
      case 7:
        stat.text = valid_utf8(name_of(reader.integer()));
        stat.quoted = true;
        break;
      default:
        break;
    }
  }
  return stat;
}

}  // namespace sonde::importers
