#include "record/names.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/strings.h"

namespace sonde::record {

std::optional<Rank> detect_rank(const std::function<const char*(const char*)>& variable) {
  // The launcher closest to the program comes first: torchrun inside an srun task, say.
  static constexpr struct {
    const char *rank, *size;
  } kPairs[] = {{"RANK", "WORLD_SIZE"},
                {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                {"PMIX_RANK", "PMIX_SIZE"},
                {"PMI_RANK", "PMI_SIZE"},
                {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                {"SLURM_PROCID", "SLURM_NTASKS"},
                {"SLURM_PROCID", "SLURM_NPROCS"}};
  const auto number = [&](const char* name) -> std::optional<int64_t> {
    const char* text = variable(name);
    return text != nullptr ? parse_int(text) : std::nullopt;
  };
  for (const auto& pair : kPairs) {
    const auto rank = number(pair.rank);
    const auto size = number(pair.size);
    if (!rank || !size || *rank < 0 || *size < 1 || *rank >= *size) continue;
    return Rank{static_cast<int>(*rank), static_cast<int>(*size), pair.rank};
  }
  return std::nullopt;
}

std::string output_of(const std::string& name, const std::optional<Rank>& rank) {
  if (!rank || rank->size <= 1) return name;
  std::filesystem::path path(name);
  const std::string part = fmt::format("rank{}", rank->rank);
  if (path.filename().string().find(part) != std::string::npos) return name;
  path.replace_filename(path.stem().string() + "." + part + path.extension().string());
  return path.string();
}

}  // namespace sonde::record
