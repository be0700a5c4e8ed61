// What .pftrace files say about GPUs: render stages, their launches, counters, and the GPUs
// themselves.
#include <fmt/format.h>

#include <utility>

#include "base/demangle.h"
#include "base/strings.h"
#include "importers/perfetto/reader.h"

namespace sonde::importers {

namespace {

void append_member(std::string& object, std::string_view name, std::string_view value) {
  object += object.empty() ? "{" : ",";
  object += json_quote(name);
  object += ':';
  object += value;
}

void take_dimensions(std::string_view message, int64_t (&axes)[3]) {
  axes[0] = axes[1] = axes[2] = 1;
  ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() >= 1 && reader.field() <= 3) axes[reader.field() - 1] = reader.integer();
  }
}

}  // namespace

void PerfettoReader::render_stage(std::string_view message, Packet& packet) {
  PerfettoSequence& sequence = packet.sequence;
  PerfettoStage stage;
  uint64_t duration = 0, context = 0;
  std::string_view launched;
  uint32_t kernel = 0;
  ProtoReader reader(message);
  while (reader.next()) {
    const uint32_t field = reader.field();
    if (field == 7) return stage_specifications(reader.bytes());  // has nothing else
    if (field == 1) stage.event = reader.number();
    if (field == 2) duration = reader.number();
    if (field == 11) stage.gpu = static_cast<int32_t>(reader.number());
    if (field == 3 || field == 13) stage.queue = reader.integer();
    if (field == 4 && reader.number() < old_stages_.size()) {
      stage.type = old_stages_[reader.number()];
    }
    if (field == 5) context = reader.number();
    if (field == 14) {
      const auto found = sequence.specifications.find(reader.number());
      if (found != sequence.specifications.end()) {
        stage.type = found->second.name;
        stage.compute = found->second.category == 2;
      }
    }
    if (field == 17) stage.name = model_.pool.id(reader.bytes());
    if (field == 20) stage.name = sequence.text(PerfettoSequence::kEventName, reader.number());
    if (field == 19) kernel = sequence.text(PerfettoSequence::kKernel, reader.number());
    if (field == 21) launched = reader.bytes();
    if (field == 6) {
      std::string_view name, value;
      ProtoReader extra(reader.bytes());
      while (extra.next()) {
        if (extra.field() == 1) name = extra.bytes();
        if (extra.field() == 2) value = extra.bytes();
      }
      append_member(stage.args, name, json_quote(value));
    }
  }
  if (!timed(packet)) return;
  if (const auto known = sequence.contexts.find(context); known != sequence.contexts.end()) {
    stage.pid = known->second.pid;
    model_.backends[stage.gpu] = known->second.api;
  }
  stage.start_ns = *packet.time_ns;
  if (duration > INT64_MAX ||
      __builtin_add_overflow(stage.start_ns, static_cast<int64_t>(duration), &stage.end_ns)) {
    return tally_.skip("operations with an impossible duration", packet.packets.place());
  }
  launch(launched, sequence, stage);
  // A mangled name is the one that the program used; what is shown is made of it.
  const bool mangled = stage.name != 0 && kernel != 0 && stage.name != kernel &&
                       demangle(model_.pool.at(kernel)) == model_.pool.at(stage.name);
  if (stage.name == 0 || mangled) stage.name = kernel;
  if (!stage.args.empty()) stage.args += '}';
  model_.stages.push_back(std::move(stage));
}

// Older files: 3 stages, each {name = 1}, numbered by their place.
void PerfettoReader::stage_specifications(std::string_view message) {
  ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() == 3) old_stages_.push_back(text_in(reader.bytes()));
  }
}

// 1 grid, 2 work group, 3 arguments
void PerfettoReader::launch(std::string_view message, PerfettoSequence& sequence,
                            PerfettoStage& stage) {
  ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1) take_dimensions(reader.bytes(), stage.groups);
    if (reader.field() == 2) take_dimensions(reader.bytes(), stage.group);
    if (reader.field() == 3) launch_argument(reader.bytes(), sequence, stage);
  }
}

void PerfettoReader::launch_argument(std::string_view message, PerfettoSequence& sequence,
                                     PerfettoStage& stage) {
  std::string_view name;
  std::string value = "null";
  int64_t number = 0;
  ProtoReader reader(message);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        name = model_.pool.at(sequence.text(PerfettoSequence::kArgument, reader.number()));
        break;
      case 2:
        name = reader.bytes();
        break;
      case 3:
        number = reader.integer();
        value = std::to_string(number);
        break;
      case 4:
        number = reader.integer();
        value = std::to_string(reader.number());
        break;
      case 5:
        value = fmt::format("{}", reader.real());
        break;
      case 6:
        value = json_quote(reader.bytes());
        break;
      case 7:
        value = json_quote(
            model_.pool.at(sequence.text(PerfettoSequence::kStringValue, reader.number())));
        break;
      default:
        break;
    }
  }
  if (name == "device") {
    stage.device = number;
  } else if (name == "stream") {
    stage.queue = number;
  } else if (name == "bytes") {
    stage.bytes = number;
  } else if (name == "status") {
    stage.status = number;
  } else if (name == "group_segment_bytes") {
    stage.group_segment_bytes = number;
  } else if (name == "private_segment_bytes") {
    stage.private_segment_bytes = number;
  } else if (starts_with_any(name, {"work_items_"}) && name.size() == 12 && name[11] >= 'x' &&
             name[11] <= 'z') {
    stage.items[name[11] - 'x'] = number;
  } else {
    append_member(stage.args, name, value);
  }
}

// 1 descriptor or 4 its iid; 2 values {counter_id = 1, integer = 2, real = 3}; 3 GPU
void PerfettoReader::gpu_counters(std::string_view message, Packet& packet) {
  if (!wants_.others && !wants_.sensors) return;
  int64_t gpu = 0;
  ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() == 3) gpu = static_cast<int32_t>(reader.number());
  }
  reader = ProtoReader(message);
  while (reader.next()) {
    if (reader.field() == 1) counter_specs(reader.bytes(), gpu);
    if (reader.field() == 4) {
      const auto known = packet.sequence.counter_descriptors.find(reader.number());
      if (known != packet.sequence.counter_descriptors.end()) counter_specs(known->second, gpu);
    }
  }
  reader = ProtoReader(message);
  while (reader.next()) {
    if (reader.field() != 2) continue;
    uint64_t id = 0;
    std::optional<double> value;
    ProtoReader entry(reader.bytes());
    while (entry.next()) {
      if (entry.field() == 1) id = entry.number();
      if (entry.field() == 2) value = static_cast<double>(entry.integer());
      if (entry.field() == 3) value = entry.real();
    }
    const auto spec = counter_specs_.find({gpu, id});
    if (spec == counter_specs_.end() || !value) {
      tally_.skip("values of GPU counters that the file does not describe", packet.packets.place());
      continue;
    }
    if (!timed(packet)) return;
    // Unless it is declared to look forwards, a value is that of the time since the previous one.
    const auto before_ns = std::exchange(spec->second.last_ns, packet.time_ns);
    if (spec->second.forwards) {
      model_.gpu_counters.push_back({*packet.time_ns, gpu, spec->second.name, *value});
    } else if (before_ns) {
      model_.gpu_counters.push_back({*before_ns, gpu, spec->second.name, *value});
    } else {
      tally_.skip("first values of GPU counters, of a time that began before the file",
                  packet.packets.place());
    }
  }
}

// 1 counters {counter_id = 1, name = 2, value_direction = 11 (2 = forwards)}
void PerfettoReader::counter_specs(std::string_view descriptor, int64_t gpu) {
  ProtoReader reader(descriptor);
  while (reader.next()) {
    if (reader.field() != 1) continue;
    uint64_t id = 0;
    CounterSpec spec;
    ProtoReader entry(reader.bytes());
    while (entry.next()) {
      if (entry.field() == 1) id = entry.number();
      if (entry.field() == 2) spec.name = model_.pool.id(entry.bytes());
      if (entry.field() == 11) spec.forwards = entry.number() == 2;
    }
    CounterSpec& known = counter_specs_[{gpu, id}];
    spec.last_ns = known.last_ns;
    known = spec;
  }
}

// 1 GPUs {name = 1, vendor = 2, model = 3}, numbered by their place
void PerfettoReader::gpu_info(std::string_view message) {
  int64_t number = 0;
  ProtoReader reader(message);
  while (reader.next()) {
    if (reader.field() != 1) continue;
    PerfettoGpu gpu;
    ProtoReader entry(reader.bytes());
    while (entry.next()) {
      if (entry.field() == 1) gpu.name = valid_utf8(entry.bytes());
      if (entry.field() == 2) gpu.vendor = valid_utf8(entry.bytes());
    }
    model_.gpus[number++] = std::move(gpu);
  }
}

}  // namespace sonde::importers
