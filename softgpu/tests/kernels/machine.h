// Runs kernels of a code object file without ROCm, for tests that link the engine.
#pragma once

#include <elf.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compute/executor.h"
#include "gpu/code_object.h"
#include "isa/kernel.h"

struct MachineCodeFile {
  softgpu::isa::Engine engine{softgpu::isa::Coverage::of_environment()};
  sonde::gpu::CodeObject object;
  uint64_t base = 0, bytes = 0;
  const softgpu::isa::Watch* watch = nullptr;  // for run()

  // False if the file is not a code object that can be run.
  bool load(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> content((std::istreambuf_iterator<char>(in)), {});
    std::span<const uint8_t> file(reinterpret_cast<const uint8_t*>(content.data()), content.size());
    for (const auto& entry : sonde::gpu::find_bundled(file)) {
      if (!entry.bytes.empty() && entry.target.find("amdgcn") != entry.target.npos)
        file = entry.bytes;
    }
    auto read = sonde::gpu::read_code_object(file, sonde::gpu::Image::kFile);
    if (!read || !sonde::gpu::architecture_of(read->head.architecture)) return false;
    object = *read;
    bytes = object.head.memory_bytes();
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    base = reinterpret_cast<uint64_t>(memory);
    for (const auto& segment : object.head.segments) {
      std::memcpy(reinterpret_cast<char*>(base + segment.address), file.data() + segment.offset,
                  segment.file_bytes);
    }
    relocate();
    return true;
  }
  const sonde::gpu::Kernel* find(const std::string& name) const {
    for (const auto& kernel : object.kernels) {
      if (kernel.name == name) return &kernel;
    }
    return nullptr;
  }

  softgpu::Outcome run(softgpu::Executor& executor, const std::string& name,
                       const softgpu::Dispatch& dispatch, uint64_t* executed = nullptr) {
    const sonde::gpu::Kernel* kernel = find(name);
    const sonde::gpu::Segment* code = object.head.code();
    if (kernel == nullptr || code == nullptr) return {softgpu::Outcome::kNoCode, 0, {}};
    softgpu::AqlDispatch packet{};
    packet.header = 2;
    packet.setup = 3;
    for (int d = 0; d < 3; d++) {
      packet.group[d] = static_cast<uint16_t>(dispatch.group[d]);
      packet.grid[d] = dispatch.grid[d];
    }
    softgpu::isa::Launch launch;
    launch.descriptor = kernel->descriptor;
    launch.entry = base + kernel->entry;
    launch.private_bytes = packet.private_bytes = kernel->descriptor.private_bytes;
    launch.lds_bytes = packet.group_bytes =
        kernel->descriptor.group_bytes + dispatch.dynamic_group_bytes;
    launch.packet = reinterpret_cast<uint64_t>(&packet);
    launch.kernarg = packet.kernarg = reinterpret_cast<uint64_t>(dispatch.kernarg);
    launch.watch = watch;
    launch.packs_item_ids = object.head.architecture == "gfx90a";
    packet.kernel_object = base + kernel->descriptor_address;
    softgpu::isa::MachineKernel machine(
        engine,
        engine.program(*sonde::gpu::architecture_of(object.head.architecture), base + code->address,
                       code->memory_bytes),
        launch);
    const softgpu::Outcome outcome = executor.run(machine, dispatch);
    if (executed != nullptr) *executed += machine.executed();
    return outcome;
  }

 private:
  // Adds the load address, in the object's dynamic relocations.
  void relocate() {
    uint64_t table = 0, size = 0;
    for (uint64_t at = 0; at < object.head.dynamic_bytes; at += sizeof(Elf64_Dyn)) {
      const auto* entry = reinterpret_cast<const Elf64_Dyn*>(base + object.head.dynamic + at);
      if (entry->d_tag == DT_RELA) table = entry->d_un.d_ptr;
      if (entry->d_tag == DT_RELASZ) size = entry->d_un.d_val;
    }
    constexpr uint32_t kRelative64 = 13;
    for (uint64_t at = 0; at < size; at += sizeof(Elf64_Rela)) {
      const auto* entry = reinterpret_cast<const Elf64_Rela*>(base + table + at);
      if (ELF64_R_TYPE(entry->r_info) != kRelative64) continue;
      const uint64_t value = base + static_cast<uint64_t>(entry->r_addend);
      std::memcpy(reinterpret_cast<void*>(base + entry->r_offset), &value, sizeof(value));
    }
  }
};
