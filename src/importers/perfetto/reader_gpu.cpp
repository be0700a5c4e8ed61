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
  read_fields(message, ProtoField{1, axes[0]}, ProtoField{2, axes[1]}, ProtoField{3, axes[2]});
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
      read_fields(reader.bytes(), ProtoField{1, name}, ProtoField{2, value});
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
  std::vector<std::string_view> stages;
  read_fields(message, ProtoField{3, stages});
  for (const std::string_view stage : stages) old_stages_.push_back(text_in(stage));
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
  static constexpr std::pair<std::string_view, int64_t PerfettoStage::*> kMembers[] = {
      {"device", &PerfettoStage::device},
      {"stream", &PerfettoStage::queue},
      {"bytes", &PerfettoStage::bytes},
      {"status", &PerfettoStage::status},
      {"group_segment_bytes", &PerfettoStage::group_segment_bytes},
      {"private_segment_bytes", &PerfettoStage::private_segment_bytes}};
  for (const auto& [known, member] : kMembers) {
    if (name == known) return void(stage.*member = number);
  }
  if (const int axis = axis_in(name, "work_items_"); axis >= 0) {
    stage.items[axis] = number;
  } else {
    append_member(stage.args, name, value);
  }
}

// 1 descriptor or 4 its iid; 2 values {counter_id = 1, integer = 2, real = 3}; 3 GPU
void PerfettoReader::gpu_counters(std::string_view message, Packet& packet) {
  if (!wants_.others && !wants_.sensors) return;
  int32_t gpu = 0;
  std::vector<std::string_view> descriptors, values;
  std::vector<uint64_t> descriptor_iids;
  read_fields(message, ProtoField{1, descriptors}, ProtoField{2, values}, ProtoField{3, gpu},
              ProtoField{4, descriptor_iids});
  for (const std::string_view descriptor : descriptors) counter_specs(descriptor, gpu);
  for (const uint64_t iid : descriptor_iids) {
    const auto known = packet.sequence.counter_descriptors.find(iid);
    if (known != packet.sequence.counter_descriptors.end()) counter_specs(known->second, gpu);
  }
  for (const std::string_view entry : values) {
    uint64_t id = 0;
    std::optional<int64_t> integer;
    std::optional<double> value;
    read_fields(entry, ProtoField{1, id}, ProtoField{2, integer}, ProtoField{3, value});
    if (integer) value = static_cast<double>(*integer);
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
  std::vector<std::string_view> counters;
  read_fields(descriptor, ProtoField{1, counters});
  for (const std::string_view counter : counters) {
    uint64_t id = 0, direction = 0;
    std::string_view name;
    read_fields(counter, ProtoField{1, id}, ProtoField{2, name}, ProtoField{11, direction});
    CounterSpec& spec = counter_specs_[{gpu, id}];
    spec.name = model_.pool.id(name);
    spec.forwards = direction == 2;
  }
}

// 1 GPUs {name = 1, vendor = 2, model = 3}, numbered by their place
void PerfettoReader::gpu_info(std::string_view message) {
  std::vector<std::string_view> gpus;
  read_fields(message, ProtoField{1, gpus});
  for (size_t i = 0; i < gpus.size(); ++i) {
    std::string_view name, vendor;
    read_fields(gpus[i], ProtoField{1, name}, ProtoField{2, vendor});
    model_.gpus[static_cast<int64_t>(i)] = {valid_utf8(name), valid_utf8(vendor)};
  }
}

}  // namespace sonde::importers
