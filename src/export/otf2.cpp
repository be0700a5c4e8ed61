// OTF2 (docs/exports.md), written by the Open Trace Format library: an archive folder whose
// locations are the threads, for each queue of a device an accelerator stream, and for each process
// (and the machine) one with its counters. Built where the library is there.
#include <otf2/otf2.h>

#include <algorithm>
#include <cstdarg>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/numbered.h"
#include "base/strings.h"
#include "export/events/events.h"
#include "export/events/lanes.h"
#include "export/events/titles.h"
#include "export/exporter.h"
#include "export/output/new_folder.h"
#include "export/rocprof/words.h"

namespace sonde::exporting {

namespace {

constexpr uint64_t kTicksPerSecond = 1'000'000'000;
constexpr uint64_t kEventChunk = 1 << 20, kDefinitionChunk = 4 << 20;

// The library's errors all come out as one Error that names the archive.
Status checked(OTF2_ErrorCode code, const std::string& path) {
  if (code == OTF2_SUCCESS) return ok_status();
  return make_error(ErrorCode::kIo, std::string("OTF2: ") + OTF2_Error_GetDescription(code), path);
}

// Errors are returned; the library would print them, too.
OTF2_ErrorCode keep_quiet(void*, const char*, uint64_t, const char*, OTF2_ErrorCode code,
                          const char*, va_list) {
  return code;
}

OTF2_FlushType flush_when_full(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}

class Archive {
 public:
  static Result<Archive> create(const std::string& path) {
    OTF2_Error_RegisterCallback(keep_quiet, nullptr);
    OTF2_Archive* const archive =
        OTF2_Archive_Open(path.c_str(), "trace", OTF2_FILEMODE_WRITE, kEventChunk, kDefinitionChunk,
                          OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive == nullptr) {
      return make_error(ErrorCode::kIo, "cannot create the OTF2 archive", path);
    }
    Archive owner(archive);
    static const OTF2_FlushCallbacks kFlush = {flush_when_full, nullptr};
    SONDE_TRY(checked(OTF2_Archive_SetFlushCallbacks(archive, &kFlush, nullptr), path));
    SONDE_TRY(checked(OTF2_Archive_SetSerialCollectiveCallbacks(archive), path));
    SONDE_TRY(checked(OTF2_Archive_SetCreator(archive, "sonde"), path));
    return owner;
  }
  Archive(Archive&& other) noexcept : archive_(std::exchange(other.archive_, nullptr)) {}
  Archive& operator=(Archive&&) = delete;
  ~Archive() {
    if (archive_ != nullptr) OTF2_Archive_Close(archive_);
  }
  OTF2_Archive* get() const { return archive_; }
  OTF2_ErrorCode close() { return OTF2_Archive_Close(std::exchange(archive_, nullptr)); }

 private:
  explicit Archive(OTF2_Archive* archive) : archive_(archive) {}
  OTF2_Archive* archive_;
};

struct Location {
  std::string name;
  OTF2_LocationType type;
  OTF2_LocationGroupRef group;
  uint64_t events;
};

class Otf2Writer {
 public:
  Otf2Writer(const Events& events, OTF2_Archive* archive) : events_(events), archive_(archive) {}

  Result<Counts> write(const std::string& path) {
    groups();
    SONDE_TRY(checked(OTF2_Archive_OpenEvtFiles(archive_), path));
    threads();
    queues();
    counters();
    SONDE_TRY(checked(OTF2_Archive_CloseEvtFiles(archive_), path));
    SONDE_TRY(checked(OTF2_Archive_OpenDefFiles(archive_), path));
    for (OTF2_LocationRef i = 0; i < locations_.size(); ++i) {
      note(OTF2_Archive_CloseDefWriter(archive_, OTF2_Archive_GetDefWriter(archive_, i)));
    }
    SONDE_TRY(checked(OTF2_Archive_CloseDefFiles(archive_), path));
    definitions();
    SONDE_TRY(checked(error_, path));
    counts_.skipped = events_.skipped;
    return counts_;
  }

 private:
  // Classes and instances are numbered together.
  OTF2_MetricRef instance_of(uint32_t series) const {
    return static_cast<OTF2_MetricRef>(events_.series.size()) + series;
  }
  void note(OTF2_ErrorCode code) {
    if (error_ == OTF2_SUCCESS) error_ = code;
  }
  OTF2_StringRef string(std::string_view text);
  OTF2_RegionRef region(std::string_view name, OTF2_RegionRole role, OTF2_Paradigm paradigm);
  OTF2_RegionRef region_of(const Api& api);
  OTF2_RegionRef region_of(const Op& op);
  void groups();
  void threads();
  void queues();
  void counters();
  template <typename Event>
  void lane(const Lane& lane, const Layout& layout, const std::vector<Event>& all,
            Location location);
  void definitions();
  void group_definitions(OTF2_GlobalDefWriter* writer);
  void counter_definitions(OTF2_GlobalDefWriter* writer);

  struct Region {
    OTF2_StringRef name;
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
  };
  struct Group {
    std::string name;
    OTF2_LocationGroupType type;
  };

  const Events& events_;
  OTF2_Archive* const archive_;
  OTF2_ErrorCode error_ = OTF2_SUCCESS;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, OTF2_StringRef> string_ids_;
  std::vector<Region> regions_;
  std::unordered_map<std::string, OTF2_RegionRef> region_ids_;
  std::vector<Group> groups_;
  std::unordered_map<int64_t, OTF2_LocationGroupRef> group_of_pid_;
  OTF2_LocationGroupRef first_device_ = 0;
  std::vector<Location> locations_;
  std::vector<OTF2_LocationRef> recorder_;  // the location of each series
  int64_t last_ns_ = 0;
  Counts counts_;
};

OTF2_StringRef Otf2Writer::string(std::string_view text) {
  return numbered(string_ids_, strings_, valid_utf8(text));
}

OTF2_RegionRef Otf2Writer::region(std::string_view name, OTF2_RegionRole role,
                                  OTF2_Paradigm paradigm) {
  std::string key(name);
  key += '\0';
  key += static_cast<char>(role);
  key += static_cast<char>(paradigm);
  const auto [at, added] =
      region_ids_.try_emplace(std::move(key), static_cast<OTF2_RegionRef>(regions_.size()));
  if (added) regions_.push_back({string(name), role, paradigm});
  return at->second;
}

OTF2_RegionRef Otf2Writer::region_of(const Api& api) {
  ++counts_.apis;
  if (events_.is_mark(api)) {
    return region(events_.title(api), OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER);
  }
  const std::string_view domain = events_.domain(api);
  const OTF2_Paradigm paradigm = domain == "opencl" ? OTF2_PARADIGM_OPENCL
                                 : domain == "cuda" ? OTF2_PARADIGM_CUDA
                                 : domain == "hip"  ? OTF2_PARADIGM_HIP
                                                    : OTF2_PARADIGM_UNKNOWN;
  return region(events_.title(api), OTF2_REGION_ROLE_WRAPPER, paradigm);
}

OTF2_RegionRef Otf2Writer::region_of(const Op& op) {
  ++counts_.ops;
  const OTF2_RegionRole role = store::moves_memory(events_.class_of(op))
                                   ? OTF2_REGION_ROLE_DATA_TRANSFER
                                   : OTF2_REGION_ROLE_FUNCTION;
  return region(events_.names.at(op.name), role, OTF2_PARADIGM_UNKNOWN);
}

void Otf2Writer::groups() {
  const auto add = [&](int64_t pid, const std::string& title) {
    const auto number = static_cast<OTF2_LocationGroupRef>(groups_.size());
    if (!group_of_pid_.try_emplace(pid, number).second) return;
    groups_.push_back({title, OTF2_LOCATION_GROUP_TYPE_PROCESS});
  };
  for (const Process& process : events_.processes) add(process.pid, process_title(process));
  for (const Series& series : events_.series) {
    add(series.pid, series.of_machine() ? "Monitors" : process_title({series.pid}));
  }
  first_device_ = static_cast<OTF2_LocationGroupRef>(groups_.size());
  for (const Device& device : events_.devices) {
    groups_.push_back({device_title(device), OTF2_LOCATION_GROUP_TYPE_ACCELERATOR});
  }
}

void Otf2Writer::threads() {
  const Layout layout = lay_out_calls(events_);
  for (const Lane& each : layout.lanes) {
    const Thread& thread = events_.threads[each.track];
    lane(each, layout, events_.apis,
         {thread_title(thread, each.lane), OTF2_LOCATION_TYPE_CPU_THREAD, group_of_pid_[thread.pid],
          0});
  }
}

void Otf2Writer::queues() {
  const Layout layout = lay_out_ops(events_);
  for (const Lane& each : layout.lanes) {
    const Queue& queue = events_.queues[each.track];
    lane(each, layout, events_.ops,
         {queue_title(events_, queue, each.lane), OTF2_LOCATION_TYPE_ACCELERATOR_STREAM,
          first_device_ + events_.device_of(queue), 0});
  }
}

// A metric instance of each series is written by the location of its process. Samples come sorted
// by series; a location takes them by time.
void Otf2Writer::counters() {
  std::map<int64_t, std::vector<Sample>> by_pid;
  for (const Sample& sample : events_.samples) {
    by_pid[events_.series[sample.series].pid].push_back(sample);
  }
  recorder_.resize(events_.series.size());
  for (auto& [pid, samples] : by_pid) {
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
    OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(archive_, locations_.size());
    for (const Sample& sample : samples) {
      const OTF2_Type type = OTF2_TYPE_DOUBLE;
      OTF2_MetricValue value;
      value.floating_point = sample.value;
      recorder_[sample.series] = locations_.size();
      note(OTF2_EvtWriter_Metric(writer, nullptr, static_cast<uint64_t>(sample.time_ns),
                                 instance_of(sample.series), 1, &type, &value));
      last_ns_ = std::max(last_ns_, sample.time_ns);
    }
    counts_.counters += samples.size();
    note(OTF2_Archive_CloseEvtWriter(archive_, writer));
    locations_.push_back(
        {"counters", OTF2_LOCATION_TYPE_METRIC, group_of_pid_[pid], samples.size()});
  }
}

// The events of a lane nest and come sorted by start, longest first.
template <typename Event>
void Otf2Writer::lane(const Lane& lane, const Layout& layout, const std::vector<Event>& all,
                      Location location) {
  OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(archive_, locations_.size());
  struct Open {
    int64_t end_ns;
    OTF2_RegionRef region;
  };
  std::vector<Open> open;
  const auto leave_until = [&](int64_t time_ns) {
    while (!open.empty() && open.back().end_ns <= time_ns) {
      note(OTF2_EvtWriter_Leave(writer, nullptr, static_cast<uint64_t>(open.back().end_ns),
                                open.back().region));
      open.pop_back();
    }
  };
  for (uint32_t i = lane.begin; i < lane.end; ++i) {
    const Event& event = all[layout.order[i]];
    leave_until(event.start_ns);
    const OTF2_RegionRef id = region_of(event);
    note(OTF2_EvtWriter_Enter(writer, nullptr, static_cast<uint64_t>(event.start_ns), id));
    open.push_back({event.end_ns, id});
    last_ns_ = std::max(last_ns_, event.end_ns);
    location.events += 2;
  }
  leave_until(INT64_MAX);
  note(OTF2_Archive_CloseEvtWriter(archive_, writer));
  locations_.push_back(std::move(location));
}

void Otf2Writer::group_definitions(OTF2_GlobalDefWriter* writer) {
  note(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, 0, string("machine"), string("machine"),
                                                OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  for (OTF2_LocationGroupRef i = 0; i < groups_.size(); ++i) {
    const bool device = groups_[i].type == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR;
    const OTF2_LocationGroupRef creator =
        device && !events_.processes.empty() ? 0 : OTF2_UNDEFINED_LOCATION_GROUP;
    note(OTF2_GlobalDefWriter_WriteLocationGroup(writer, i, string(groups_[i].name),
                                                 groups_[i].type, 0, creator));
  }
  for (OTF2_LocationRef i = 0; i < locations_.size(); ++i) {
    const Location& location = locations_[i];
    note(OTF2_GlobalDefWriter_WriteLocation(writer, i, string(location.name), location.type,
                                            location.events, location.group));
  }
}

// A class for each series, and its instance: the unit is part of the name, as in other formats.
void Otf2Writer::counter_definitions(OTF2_GlobalDefWriter* writer) {
  const auto count = static_cast<uint32_t>(events_.series.size());
  for (uint32_t i = 0; i < count; ++i) {
    note(OTF2_GlobalDefWriter_WriteMetricMember(
        writer, i, string(events_.series[i].name), string(""), OTF2_METRIC_TYPE_OTHER,
        OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, string("")));
    note(OTF2_GlobalDefWriter_WriteMetricClass(writer, i, 1, &i, OTF2_METRIC_ASYNCHRONOUS,
                                               OTF2_RECORDER_KIND_ABSTRACT));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t pid = events_.series[i].pid;
    const bool of_machine = events_.series[i].of_machine();
    note(OTF2_GlobalDefWriter_WriteMetricInstance(
        writer, instance_of(i), i, recorder_[i],
        of_machine ? OTF2_SCOPE_SYSTEM_TREE_NODE : OTF2_SCOPE_LOCATION_GROUP,
        of_machine ? 0 : group_of_pid_[pid]));
  }
}

void Otf2Writer::definitions() {
  OTF2_GlobalDefWriter* const writer = OTF2_Archive_GetGlobalDefWriter(archive_);
  const auto first = static_cast<uint64_t>(events_.first_ns);
  const auto last = static_cast<uint64_t>(std::max(last_ns_, events_.first_ns));
  note(OTF2_GlobalDefWriter_WriteClockProperties(writer, kTicksPerSecond, first, last - first,
                                                 OTF2_UNDEFINED_TIMESTAMP));
  // Texts must be defined before what uses them: ask for all of them first.
  string("");
  string("machine");
  for (const Group& group : groups_) string(group.name);
  for (const Location& location : locations_) string(location.name);
  for (const Series& series : events_.series) string(series.name);
  for (OTF2_StringRef i = 0; i < strings_.size(); ++i) {
    note(OTF2_GlobalDefWriter_WriteString(writer, i, strings_[i].c_str()));
  }
  for (OTF2_RegionRef i = 0; i < regions_.size(); ++i) {
    const Region& each = regions_[i];
    note(OTF2_GlobalDefWriter_WriteRegion(writer, i, each.name, each.name, string(""), each.role,
                                          each.paradigm, OTF2_REGION_FLAG_NONE, string(""), 0, 0));
  }
  group_definitions(writer);
  counter_definitions(writer);
}

Result<Counts> write_otf2(store::Reader& reader, const std::string& path, const Options& options) {
  SONDE_ASSIGN(const Events events, load_events(reader, options));
  SONDE_ASSIGN(NewFolder folder, NewFolder::create(path));
  SONDE_ASSIGN(Archive archive, Archive::create(path));
  SONDE_ASSIGN(const Counts counts, Otf2Writer(events, archive.get()).write(path));
  SONDE_TRY(checked(archive.close(), path));
  folder.keep();
  return counts;
}

}  // namespace

Exporter otf2_exporter() {
  return {"otf2",
          "an OTF2 archive (a folder) for Vampir, Score-P's tools and otf2-print",
          {".otf2"},
          write_otf2,
          true};
}

}  // namespace sonde::exporting
