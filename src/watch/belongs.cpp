#include "watch/belongs.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/strings.h"

namespace sonde::watch {

namespace {

constexpr size_t kShortId = 12;  // of a container id, as container tools show it

bool is_hex(std::string_view text) {
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return false;
  }
  return !text.empty();
}

// The text between `key` and the next slash; "" if there is none.
std::string_view after(std::string_view path, std::string_view key) {
  const size_t at = path.find(key);
  if (at == path.npos) return {};
  const std::string_view rest = path.substr(at + key.size());
  return rest.substr(0, rest.find('/'));
}

std::string_view without(std::string_view name, std::string_view suffix) {
  const bool has =
      name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
  return has ? name.substr(0, name.size() - suffix.size()) : name;
}

// "docker-0123...scope", "/docker/0123...", "libpod-...", "cri-containerd-...",
// "/kubepods/.../0123"
std::string container_of(std::string_view path) {
  struct Maker {
    std::string_view key, name;
  };
  constexpr Maker kMakers[] = {
      {"docker-", "docker"},   {"/docker/", "docker"},
      {"libpod-", "podman"},   {"cri-containerd-", "containerd"},
      {"crio-", "cri-o"},      {"/lxc/", "lxc"},
      {"lxc.payload.", "lxc"},
  };
  for (const Maker& maker : kMakers) {
    const std::string_view id = without(after(path, maker.key), ".scope");
    if (id.empty()) continue;
    if (maker.name != "lxc" && !is_hex(id)) continue;
    const std::string_view shown = maker.name == "lxc" ? id : id.substr(0, kShortId);
    return std::string(maker.name) + ":" + std::string(shown);
  }
  if (path.find("kubepods") != path.npos) {
    const std::string_view pod = without(after(path, "pod"), ".slice");
    const std::string_view id = path.substr(path.rfind('/') + 1);
    if (is_hex(id)) return "k8s:" + std::string(id.substr(0, kShortId));
    return "k8s:" + std::string(pod.substr(0, kShortId));
  }
  return {};
}

std::string variable(std::string_view environ, std::string_view name) {
  while (!environ.empty()) {
    const size_t end = std::min(environ.find('\0'), environ.size());
    const std::string_view entry = environ.substr(0, end);
    if (entry.size() > name.size() && entry[name.size()] == '=' &&
        entry.substr(0, name.size()) == name) {
      return std::string(entry.substr(name.size() + 1));
    }
    environ.remove_prefix(std::min(end + 1, environ.size()));
  }
  return {};
}

template <size_t kCount>
std::string first_of(std::string_view environ, const std::array<const char*, kCount>& names) {
  for (const char* name : names) {
    std::string value = variable(environ, name);
    if (!value.empty()) return value;
  }
  return {};
}

}  // namespace

Belongs belongs_of(std::string_view cgroup, std::string_view environ) {
  Belongs found;
  for (const std::string_view line : split(cgroup, '\n')) {
    const size_t colon = line.rfind(':');
    const std::string_view path = colon == line.npos ? line : line.substr(colon + 1);
    const std::string_view job = after(path, "/job_");
    if (found.job.empty() && parse_int(job)) {
      found.job = "slurm:" + std::string(job);
      found.step = std::string(after(path, "/step_"));
    }
    if (found.container.empty()) found.container = container_of(path);
  }
  if (environ.empty()) return found;
  struct Manager {
    const char *variable, *name;
  };
  constexpr Manager kManagers[] = {
      {"SLURM_JOB_ID", "slurm"}, {"PBS_JOBID", "pbs"}, {"FLUX_JOB_ID", "flux"},
      {"LSB_JOBID", "lsf"},      {"JOB_ID", "sge"},
  };
  for (const Manager& manager : kManagers) {
    const std::string id = variable(environ, manager.variable);
    if (found.job.empty() && !id.empty()) found.job = std::string(manager.name) + ":" + id;
  }
  if (found.step.empty()) found.step = variable(environ, "SLURM_STEP_ID");
  constexpr std::array kRanks = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",    "PMI_RANK",
                                 "MV2_COMM_WORLD_RANK",  "SLURM_PROCID", "FLUX_TASK_RANK"};
  found.rank = first_of(environ, kRanks);
  // torchrun sets both; RANK alone may be anybody's.
  if (found.rank.empty() && !variable(environ, "WORLD_SIZE").empty()) {
    found.rank = variable(environ, "RANK");
  }
  return found;
}

}  // namespace sonde::watch
