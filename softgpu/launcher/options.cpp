#include "launcher/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "config/config_json.h"
#include "config/models.h"
#include "counters/counters.h"

namespace softgpu {
namespace {

using sonde::ErrorCode;
using sonde::make_error;
using sonde::Result;
using sonde::Status;

constexpr const char* kFooter = R"(
Examples:
  softgpu -- rocminfo                            one gfx90a
  softgpu --gpu gfx90a:2 --gpu gfx906 -- ./app   three GPUs
  softgpu --log ops.log --fault memory-fault@saxpy:3 -- ./app
  softgpu --keep-tree /tmp/gpus -- ./app &       and, while it runs,
  softgpu --attach /tmp/gpus -- rocm-smi         what the GPUs do

Programs that the command starts share its GPUs. The exit status is the command's.)";

std::string model_table() {
  std::string text = fmt::format("{:<9} {:<26} {:>4} {:>7} {:>9}  {:>12}  {}\n", "model", "name",
                                 "CUs", "memory", "clock", "memory clock", "ROCm");
  for (const Model& model : all_models()) {
    text += fmt::format("{:<9} {:<26} {:>4} {:>3} GiB {:>5} MHz  {:>8} MHz  {}\n", model.gfx,
                        model.name, model.compute_units, model.vram_gib, model.shader_clock_mhz,
                        model.memory_clock_mhz, model.first_runtime);
  }
  return text;
}

struct Raw {
  std::vector<std::string> gpus, faults;
  std::string config, log, engine, kfd, waves, instructions, coverage;
  std::vector<std::string> check;
  std::optional<int> verbose, threads;
  std::optional<uint64_t> sample_every;
  bool real_time = false, list_models = false, list_counters = false, print_config = false;
};

Result<Config> make_config(const Raw& raw) {
  Config config;
  if (raw.config.empty()) {
    SONDE_ASSIGN(config, parse_config("{}", ""));
  } else {
    SONDE_ASSIGN(config, read_config(raw.config));
  }
  if (!raw.gpus.empty()) config.gpus.clear();
  for (const std::string& text : raw.gpus) {
    SONDE_ASSIGN(auto gpus, parse_gpu_option(text));
    config.gpus.insert(config.gpus.end(), gpus.begin(), gpus.end());
  }
  for (const std::string& text : raw.faults) {
    SONDE_ASSIGN(FaultRule rule, parse_fault_option(text));
    config.faults.push_back(std::move(rule));
  }
  if (!raw.log.empty()) config.log_path = raw.log;
  if (!raw.waves.empty()) config.waves_path = raw.waves;
  if (!raw.instructions.empty()) config.instructions_path = raw.instructions;
  if (!raw.coverage.empty()) config.coverage_path = raw.coverage;
  for (std::string* path :
       {&config.log_path, &config.waves_path, &config.instructions_path, &config.coverage_path}) {
    // Programs may change their directory.
    if (!path->empty()) *path = std::filesystem::absolute(*path).string();
  }
  config.sample_every = raw.sample_every.value_or(config.sample_every);
  if (config.sample_every != 0 && config.waves_path.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "there is no file for the samples", {},
                      "--waves FILE says where they go");
  }
  for (const std::string& what : raw.check)
    (what == "memory" ? config.check_memory : config.check_races) = true;
  config.log_level = raw.verbose.value_or(config.log_level);
  config.threads = raw.threads.value_or(config.threads);
  if (!raw.engine.empty()) {
    SONDE_ASSIGN(config.engine, parse_engine(raw.engine));
  }
  if (!raw.kfd.empty()) {
    SONDE_ASSIGN(config.kfd_minor, parse_kfd_version(raw.kfd));
  }
  if ((config.check_memory || config.check_races) && config.engine != EngineChoice::kAuto &&
      config.engine != EngineChoice::kIsa) {
    return make_error(ErrorCode::kInvalidArgument,
                      "checks machine code, which this engine does not run", "--check",
                      "--engine isa, or auto");
  }
  SONDE_TRY(finish_config(config));
  for (GpuConfig& gpu : config.gpus) gpu.time.real_time |= raw.real_time;
  return config;
}

void declare_gpus(CLI::App& app, Raw& raw) {
  app.add_option("--gpu", raw.gpus, "A GPU, or several of one model; \":0\" shows none [gfx90a]")
      ->type_name("MODEL[:COUNT]")
      ->allow_extra_args(false);
  app.add_option("--config", raw.config, "JSON file with GPUs, clocks, times and faults")
      ->type_name("FILE");
  app.add_option("--fault", raw.faults,
                 "One fault, at the N-th dispatch (of kernels with KERNEL in their name)")
      ->type_name("KIND[@KERNEL][:N]")
      ->allow_extra_args(false);
  app.add_option(
         "--kfd", raw.kfd,
         "Version of the kernel driver's interface, 1.8 to 1.18, as on older and newer Linux "
         "[1.17]")
      ->type_name("VERSION");
}

void declare_files(CLI::App& app, Raw& raw) {
  app.add_option("--log", raw.log, "Write what the GPUs execute to this file")->type_name("FILE");
  app.add_option("--waves", raw.waves,
                 "Write the state of waves at faults and traps, and when FILE.ask is created, to "
                 "this new file")
      ->type_name("FILE");
  app.add_option("--sample-every", raw.sample_every,
                 "With --waves: also write where each wave is after every N of its instructions")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
  app.add_option("--trace-instructions", raw.instructions,
                 "Write each instruction of machine code that runs to this new file: it grows fast")
      ->type_name("FILE");
  app.add_option("--coverage", raw.coverage,
                 "Append the instructions and modifiers that machine code executes to this file")
      ->type_name("FILE")
      ->envname("SOFTGPU_COVERAGE");
}

void declare_kernels(CLI::App& app, Raw& raw) {
  app.add_option("--check", raw.check,
                 "Check what machine code does with memory: memory (out of bounds, use after free, "
                 "reads of uninitialised memory), race (between waves of a work group), or both")
      ->type_name("WHAT")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"memory", "race"}));
  app.add_flag("--real-time", raw.real_time,
               "Computed kernels take as long as the host takes, not what the time model says");
  app.add_option(
         "--engine", raw.engine,
         "What computes kernels: auto (host code where there is some, else machine code), host, "
         "isa, none [auto]")
      ->type_name("ENGINE");
  app.add_option("--threads", raw.threads, "Threads that compute kernels [one per core]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
}

void declare(CLI::App& app, Raw& raw, Options& options) {
  app.footer(kFooter);
  app.set_version_flag("--version", SONDE_VERSION);
  declare_gpus(app, raw);
  declare_files(app, raw);
  declare_kernels(app, raw);
  auto* keep = app.add_option("--keep-tree", options.keep_tree,
                              "Make the /sys and /dev tree in this new folder, and leave it there")
                   ->type_name("DIR");
  app.add_flag("--publish", options.publish,
               "Keep the tree's live files up to date for readers outside of the session");
  app.add_option("--attach", options.attach, "Use the GPUs of this tree, which is being used")
      ->type_name("DIR")
      ->excludes(keep);
  app.add_option("--verbose", raw.verbose, "Diagnostics on stderr: 1 what is missing, 3 all")
      ->type_name("LEVEL")
      ->check(CLI::Range(0, 9));
  app.add_flag("--models", raw.list_models, "List the models and exit");
  app.add_flag("--counters", raw.list_counters,
               "List the hardware counters: which are exact, modelled or refused, and exit");
  app.add_flag("--print-config", raw.print_config, "Print the whole configuration and exit");
  app.add_option("command", options.command, "Program and its arguments, after --");
}

}  // namespace

Result<std::variant<Options, Printout>> parse_options(int argc, char** argv) {
  CLI::App app("Runs a program on software AMD GPUs that unmodified ROCm takes for real ones.",
               "softgpu");
  Raw raw;
  Options options;
  declare(app, raw, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::variant<Options, Printout>(Printout{app.help()});
  } catch (const CLI::CallForVersion&) {
    return std::variant<Options, Printout>(
        Printout{std::string("softgpu ") + SONDE_VERSION + "\n"});
  } catch (const CLI::ParseError& error) {
    return make_error(ErrorCode::kInvalidArgument, error.what(), {}, "softgpu --help");
  }
  if (raw.list_models) return std::variant<Options, Printout>(Printout{model_table()});
  if (raw.list_counters) {
    return std::variant<Options, Printout>(Printout{counter_table()});
  }
  SONDE_ASSIGN(options.config, make_config(raw));
  if (raw.print_config) {
    return std::variant<Options, Printout>(Printout{config_text(options.config)});
  }
  if (options.command.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "no command was given", {},
                      "softgpu [OPTIONS] -- COMMAND; softgpu --help");
  }
  return std::variant<Options, Printout>(std::move(options));
}

}  // namespace softgpu
