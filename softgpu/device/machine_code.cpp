#include "device/machine_code.h"

#include <algorithm>
#include <cstring>

#include "compute/code_object.h"
#include "gpu/code_object.h"

namespace softgpu {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

MachineCode::MachineCode(isa::Engine& engine, const GpuMemory& memory, const std::string& model)
    : engine_(engine), memory_(memory), architecture_(sonde::gpu::architecture_of(model)) {}

std::optional<MachineCode::Place> MachineCode::find(uint64_t kernel_object) const {
  if (!architecture_) return std::nullopt;
  const uint64_t elf = find_code_object(memory_, kernel_object);
  if (elf == 0) return std::nullopt;
  const auto head = sonde::gpu::read_code_object_head(
      {reinterpret_cast<const uint8_t*>(memory_.own_address(elf)), kPage});
  if (!head || head->code() == nullptr) return std::nullopt;
  if (sonde::gpu::architecture_of(head->architecture) != architecture_) return std::nullopt;
  const Place place{elf + head->code()->address, head->code()->memory_bytes};
  const auto& descriptor = *reinterpret_cast<const KernelDescriptor*>(kernel_object);
  const uint64_t entry = kernel_object + static_cast<uint64_t>(descriptor.entry_offset);
  if (entry - place.begin >= place.bytes) return std::nullopt;
  if (memory_.check(place.begin, place.bytes)) return std::nullopt;
  return place;
}

isa::Launch MachineCode::launch(const AqlDispatch& packet, uint64_t kernarg, uint64_t queue) const {
  isa::Launch launch;
  std::memcpy(&launch.descriptor, reinterpret_cast<const void*>(packet.kernel_object),
              sizeof(launch.descriptor));
  launch.entry = packet.kernel_object + static_cast<uint64_t>(launch.descriptor.entry_offset);
  launch.packet = reinterpret_cast<uint64_t>(&packet);
  launch.kernarg = kernarg;
  launch.queue = queue;
  launch.private_bytes = std::max(packet.private_bytes, launch.descriptor.private_bytes);
  launch.lds_bytes = std::max(packet.group_bytes, launch.descriptor.group_bytes);
  launch.packs_item_ids = architecture_ == sonde::gpu::Architecture::kGfx90a;
  return launch;
}

isa::TrapHandler MachineCode::trap_handler(uint64_t code, uint64_t memory) const {
  // Its size is unknown; it ends within its page.
  const uint64_t bytes = kPage - code % kPage;
  if (code == 0 || memory_.check(code, bytes)) return {};
  return {engine_.program(*architecture_, code, bytes), code, memory};
}

std::unique_ptr<isa::MachineKernel> MachineCode::kernel(const Place& place,
                                                        const isa::Launch& launch) const {
  return std::make_unique<isa::MachineKernel>(
      engine_, engine_.program(*architecture_, place.begin, place.bytes), launch);
}

}  // namespace softgpu
