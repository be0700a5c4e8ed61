// The JSON form of a Config: what a user writes for --config, and what the launcher writes into the
// tree for the preloaded library. Reading is strict: an unknown key, or a value of the wrong type
// or out of range, is an error that names the place ("gpus[1].vram_bytes").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace softgpu {

constexpr int kMaxGpus = 8;
constexpr std::string_view kDefaultModel = "gfx90a";

// `name` is the file's, for messages. Without "gpus" there is one of the default model.
sonde::Result<Config> parse_config(std::string_view text, std::string_view name);
sonde::Result<Config> read_config(const std::string& path);
// All values: parse_config() of it gives the same Config.
std::string config_text(Config config);

// The short forms of the command line: "gfx90a:2" and "memory-fault@kernel:3" (kernel and number
// are optional: "hang", "hang@saxpy", "hang:3").
sonde::Result<std::vector<GpuConfig>> parse_gpu_option(std::string_view text);
sonde::Result<FaultRule> parse_fault_option(std::string_view text);
// "1.14": the minor number.
sonde::Result<uint32_t> parse_kfd_version(std::string_view text);
sonde::Result<EngineChoice> parse_engine(std::string_view text);  // "auto", "host", "isa", "none"

// Checks a Config as a whole: number of GPUs, unique PCI addresses, faults on existing GPUs.
// Assigns missing PCI addresses.
sonde::Status finish_config(Config& config);

}  // namespace softgpu
