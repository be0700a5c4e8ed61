#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "tree/layout.h"
#include "tree/tree.h"

namespace softgpu {
namespace {

constexpr size_t kNumberBytes = 24;  // the fixed size of a file with one number

void write_over(const std::string& path, std::string text) {
  const bool number = text.find('\n') + 1 == text.size() && text.size() < kNumberBytes;
  if (number) text.append(kNumberBytes - text.size(), '\n');
  const sonde::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.valid()) (void)!::pwrite(fd.get(), text.data(), text.size(), 0);
}

}  // namespace

void publish_live_files(const Config& config, const std::string& folder,
                        const std::function<GpuLoad(uint32_t gpu)>& load) {
  constexpr std::string_view kHwmon = "hwmon/";
  for (uint32_t gpu = 0; gpu < config.gpus.size(); ++gpu) {
    const std::string own = folder + pci_folder(config.gpus[gpu]) + "/";
    const GpuLoad now = load(gpu);
    for (const std::string_view name : live_files()) {
      std::string path = own + std::string(name);
      if (name.starts_with(kHwmon)) {
        path = own + "hwmon/" + hwmon_name(gpu) + "/" + std::string(name.substr(kHwmon.size()));
      }
      write_over(path, live_text(name, config.gpus[gpu], now));
    }
  }
}

}  // namespace softgpu
