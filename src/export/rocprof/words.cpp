#include "export/rocprof/words.h"

#include <cctype>

namespace sonde::exporting {

namespace {

constexpr CopyDirection kDirections[] = {
    {"CopyHostToDevice", "MEMORY_COPY_HOST_TO_DEVICE", true, false},
    {"CopyDeviceToHost", "MEMORY_COPY_DEVICE_TO_HOST", false, true},
    {"CopyDeviceToDevice", "MEMORY_COPY_DEVICE_TO_DEVICE", false, false},
    {"CopyHostToHost", "MEMORY_COPY_HOST_TO_HOST", true, true},
};

template <typename Change>
std::string word_of(std::string_view text, Change change) {
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    word += std::isalnum(byte) != 0 ? static_cast<char>(change(byte)) : '_';
  }
  return word;
}

}  // namespace

CopyDirection copy_direction(std::string_view type) {
  for (const CopyDirection& direction : kDirections) {
    if (direction.type == type) return direction;
  }
  return {type, type};
}

std::string domain_word(std::string_view domain) {
  if (domain == "hip") return "HIP_RUNTIME_API";
  if (domain == "hsa") return "HSA_CORE_API";
  return word_of(domain, [](unsigned char byte) { return std::toupper(byte); }) + "_API";
}

std::string file_word(std::string_view domain) {
  return word_of(domain, [](unsigned char byte) { return std::tolower(byte); });
}

int64_t group_items(const Shape& shape) {
  if (shape.group[0] < 0) return -1;
  return shape.group[0] * shape.group[1] * shape.group[2];
}

int64_t launching_thread(const Events& events, const Op& op) {
  const Api* const call = events.launcher(op);
  return call == nullptr ? -1 : events.threads[call->thread].tid;
}

std::array<int64_t, 9> kernel_figures(const Events& events, const Op& op) {
  const Shape shape = op.shape == kNone ? Shape() : events.shapes[op.shape];
  const KernelCode& code = events.code_of(op);
  return {events.queues[op.queue].pid,
          launching_thread(events, op),
          work_items(shape),
          group_items(shape),
          shape.group_segment_bytes,
          shape.private_segment_bytes,
          code.vgprs,
          code.agprs,
          code.sgprs};
}

int64_t work_items(const Shape& shape, int axis) {
  const bool whole_groups = shape.grid[axis] >= 0 && shape.group[axis] >= 0;
  return whole_groups ? shape.grid[axis] * shape.group[axis] : shape.items[axis];
}

int64_t work_items(const Shape& shape) {
  if (shape.grid[0] >= 0 && shape.group[0] >= 0) {
    return shape.grid[0] * shape.grid[1] * shape.grid[2] * group_items(shape);
  }
  if (shape.items[0] < 0) return -1;
  return shape.items[0] * shape.items[1] * shape.items[2];
}

}  // namespace sonde::exporting
