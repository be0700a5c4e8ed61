// sonde debug: runs a command and says why its GPU failed, or shows the reports that a trace
// stores.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "fault/code.h"
#include "fault/collectives.h"
#include "fault/memory.h"
#include "fault/text.h"
#include "record/attached.h"
#include "record/child.h"
#include "record/command.h"
#include "record/launcher.h"
#include "record/output.h"
#include "record/record.h"
#include "store/faults.h"
#include "store/reader.h"
#include "wire/board.h"

namespace sonde::cli {

namespace {

constexpr const char* kAttach = "SONDE_DEBUG_ATTACH";

Status require_folder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return ok_status();
  return make_error(ErrorCode::kNotFound, "no such folder for code objects", folder,
                    "make it first: mkdir");
}

Result<record::FaultOptions> fault_options(const Arguments& arguments) {
  record::FaultOptions options;
  options.only = true;
  options.on_quit = true;
  const auto name_of = [&](const char* option) {
    const auto given = arguments.value(option);
    return given ? record::name_in_job(*given, arguments.command_line()) : std::string();
  };
  options.output = name_of("output");
  options.core = name_of("core");
  options.json = arguments.flag("json");
  options.all = arguments.flag("all");
  options.save_folder = arguments.value("save-code-objects");
  if (const auto text = arguments.value("hang")) {
    const auto hang_ns = parse_duration_ns(*text, 1'000'000'000);
    if (!hang_ns || *hang_ns <= 0) {
      return make_error(ErrorCode::kInvalidArgument, "'" + *text + "' is not a time", "--hang",
                        "as in --hang 30s");
    }
    options.hang_ns = *hang_ns;
  }
  if (options.save_folder) SONDE_TRY(require_folder(*options.save_folder));
  std::error_code error;
  if (!options.output.empty() && std::filesystem::exists(options.output, error)) {
    return make_error(ErrorCode::kIo, "exists, and is not overwritten", options.output,
                      "choose another name with -o");
  }
  if (!options.core.empty() && !options.core.ends_with(".rpd")) {
    return make_error(ErrorCode::kInvalidArgument, "does not end in .rpd", options.core,
                      "as in --core fault.rpd");
  }
  if (!options.core.empty() && std::filesystem::exists(options.core, error)) {
    return make_error(ErrorCode::kIo, "exists, and is not overwritten", options.core,
                      "choose another name with --core");
  }
  return options;
}

// What --check asks for.
struct Checks {
  bool memory = false, race = false;
};
Result<Checks> checks_of(const Arguments& arguments) {
  Checks checks;
  const auto text = arguments.value("check");
  if (!text) return checks;
  for (const auto word : split(*text, ',')) {
    if (word != "memory" && word != "race") {
      return make_error(ErrorCode::kInvalidArgument,
                        "'" + std::string(word) + "' is neither memory nor race", "--check",
                        "as in --check memory, --check race or --check memory,race");
    }
    (word == "memory" ? checks.memory : checks.race) = true;
  }
  if (arguments.flag("softgpu")) return checks;
  if (checks.race) {
    return make_error(ErrorCode::kUnsupported,
                      "a GPU does not report each memory access of its kernels", "--check race",
                      "sonde debug --softgpu --check race finds races");
  }
  print_error_line(
      "--check memory on a GPU gives each buffer its own pages, with unallocated pages between, "
      "and finds an access that leaves the pages of its buffer. Accesses that stay within them, to "
      "freed memory that was allocated again, and reads of uninitialised memory are found with "
      "--softgpu only.");
  return checks;
}

// A software GPU that the user starts with other options shows its waves as well.
void ask_launcher_for_waves(record::Options& options) {
  auto& words = options.command;
  const auto end = std::find(words.begin(), words.end(), "--");
  if (words.empty() || end == words.end()) return;
  const auto file = record::find_command(words[0]);
  if (!file || !record::is_softgpu(*file)) return;
  if (std::any_of(words.begin(), end, [](const auto& w) { return w.starts_with("--waves"); }))
    return;
  words.insert(words.begin() + 1, {"--waves", record::kWavesFile});
  options.faults.waves = true;
}

Result<record::Options> options_of(const Arguments& arguments) {
  record::Options options;
  SONDE_ASSIGN(const Checks checks, checks_of(arguments));
  SONDE_ASSIGN(options.faults, fault_options(arguments));
  options.spool_folder = arguments.value_or("spool-dir", "");
  options.backends = std::vector<std::string>{"hsa", "hip", "opencl"};
  options.sample_hz = 0;
  options.environment.push_back(std::string(wire::kBoardHolds) + "=1");
  if (arguments.flag("launch-stacks")) {
    options.environment.push_back(std::string(wire::kBoardLaunches) + "=1");
  }
  if (arguments.flag("no-cache") || checks.memory) {
    // PyTorch's allocator under its two names, and that of ROCr for small buffers.
    for (const char* setting :
         {"PYTORCH_NO_HIP_MEMORY_CACHING=1", "PYTORCH_NO_CUDA_MEMORY_CACHING=1",
          "HSA_DISABLE_FRAGMENT_ALLOCATOR=1"}) {
      options.environment.emplace_back(setting);
    }
  }
  if (checks.memory) options.environment.emplace_back("HSA_SVM_GUARD_PAGES=16");
  options.faults.checks_memory = checks.memory;
  options.quiet = true;
  options.command = arguments.command_line();
  if (!arguments.flag("softgpu")) {
    ask_launcher_for_waves(options);
    return options;
  }
  SONDE_ASSIGN(const std::string launcher, softgpu_launcher());
  options.faults.waves = true;
  std::vector<std::string> start = {launcher, "--engine", "isa", "--waves", record::kWavesFile};
  if (checks.memory) start.insert(start.end(), {"--check", "memory"});
  if (checks.race) start.insert(start.end(), {"--check", "race"});
  options.faults.checks = checks.memory || checks.race;
  start.emplace_back("--");
  options.command.insert(options.command.begin(), start.begin(), start.end());
  return options;
}

// Files that do not exist, too: the error then says so.
bool are_traces(const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(), [](const std::string& word) {
    std::error_code error;
    return word.ends_with(".rpd") &&
           (std::filesystem::is_regular_file(word, error) || !std::filesystem::exists(word, error));
  });
}

// "0x7f0000001000" or "0x7f0000001000:256".
Result<int> show_memory(store::Reader& reader, const std::string& path, const std::string& where) {
  char* end = nullptr;
  const uint64_t address = std::strtoull(where.c_str(), &end, 0);
  const uint64_t bytes = *end == ':' ? std::strtoull(end + 1, &end, 0) : 256;
  if (end == where.c_str() || *end != '\0' || bytes == 0) {
    return make_error(ErrorCode::kInvalidArgument, "'" + where + "' is not an address", "--memory",
                      "as in --memory 0x7f0000001000:256");
  }
  SONDE_ASSIGN(const auto pieces, store::memory_of_faults(reader.database()));
  for (const store::FaultMemory& piece : pieces) {
    if (address < piece.address || address - piece.address >= piece.bytes.size()) continue;
    fmt::print("{}", fault::dump_text(address, piece.bytes.substr(address - piece.address, bytes)));
    return 0;
  }
  return make_error(ErrorCode::kNotFound, fmt::format("has no memory at {:#x}", address), path,
                    "it has only those pages of the kernels' buffers that are not all zero");
}

Result<int> save_stored_code(store::Reader& reader, const std::string& folder) {
  SONDE_ASSIGN(const auto objects, store::code_of_faults(reader.database()));
  for (const store::FaultCode& object : objects) {
    const std::string file = folder + "/" + fault::saved_name(object.uri);
    SONDE_TRY(fault::save_bytes(file, object.bytes));
    fmt::print("{}\n", file);
  }
  return 0;
}

// Prints the reports that were stored when the trace was recorded.
Result<int> show_stored(const Arguments& arguments, const std::string& path) {
  SONDE_ASSIGN(auto reader, store::Reader::open(path));
  if (const auto where = arguments.value("memory")) return show_memory(reader, path, *where);
  if (const auto folder = arguments.value("save-code-objects")) {
    SONDE_TRY(require_folder(*folder));
    return save_stored_code(reader, *folder);
  }
  SONDE_ASSIGN(const auto faults, store::faults_of(reader.database()));
  for (const auto& fault : faults) {
    fmt::print("{}\n", arguments.flag("json")
                           ? fault.json
                           : fault::fitted_to_terminal(fault.text, STDOUT_FILENO));
  }
  if (faults.empty()) fmt::print("{}: no GPU failed while this was recorded\n", path);
  return 0;
}

fault::RankCall rank_call(const store::FaultCall& from) {
  fault::RankCall call;
  call.communicator = std::strtoull(from.communicator.c_str(), nullptr, 0);
  call.ranks = static_cast<int>(from.ranks);
  call.rank = static_cast<int>(from.rank);
  call.host = from.host;
  call.pid = from.pid;
  call.process_ended = from.process_ended;
  call.sequence = static_cast<uint64_t>(from.sequence);
  call.name = from.name;
  call.count = static_cast<uint64_t>(from.count);
  call.type = static_cast<int>(from.type);
  call.root = static_cast<int>(from.root);
  call.is_open = from.is_open;
  for (const store::FaultCall::Frame& frame : from.stack) {
    call.stack.push_back(
        {frame.function, frame.file, frame.module, frame.line, frame.language == "python", false});
  }
  return call;
}

// Combines the reports of several processes, each in its own file.
Result<int> show_joined(const Arguments& arguments, const std::vector<std::string>& paths) {
  std::vector<fault::KeptReport> reports;
  std::vector<fault::RankCall> calls;
  for (const std::string& path : paths) {
    SONDE_ASSIGN(auto reader, store::Reader::open(path));
    SONDE_ASSIGN(const auto faults, store::faults_of(reader.database()));
    for (const auto& fault : faults) reports.push_back({path, fault.pid, fault.title, fault.cause});
    if (faults.empty()) reports.push_back({path, 0, "no GPU failed while this was recorded", ""});
    SONDE_ASSIGN(const auto known, store::rank_calls_of_faults(reader.database()));
    for (const store::FaultCall& call : known) calls.push_back(rank_call(call));
  }
  const auto waits = fault::find_collective_waits(calls, 0);
  fmt::print("{}\n",
             arguments.flag("json")
                 ? fault::joined_json_of(reports, waits)
                 : fault::fitted_to_terminal(fault::joined_text_of(reports, waits), STDOUT_FILENO));
  return 0;
}

// The drop-in library for AMD's debug agent has started this for its own process, and has checked
// the options.
Result<int> watch_process(const Arguments& arguments, const std::string& who) {
  const auto process = record::parse_attached(who);
  if (!process) {
    return make_error(ErrorCode::kInvalidArgument, "'" + who + "' is not a process to watch",
                      kAttach, "only librocm-debug-agent.so.2 sets it");
  }
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  record::Options options;
  options.faults.only = options.faults.on_quit = options.faults.agent_layout = true;
  options.faults.output = arguments.value_or("output", "");
  options.faults.all = arguments.flag("all");
  options.faults.save_folder = arguments.value("save-code-objects");
  options.faults.waves_of_others = variable("SOFTGPU_WAVES");
  SONDE_TRY(record::watch_attached(std::move(options), *process));
  return 0;
}

Result<int> run(const Arguments& arguments) {
  const auto& words = arguments.command_line();
  if (const char* who = std::getenv(kAttach)) return watch_process(arguments, who);
  if (words.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "no command to run", "",
                      "sonde debug -- ./program, or sonde debug trace.rpd");
  }
  if (are_traces(words)) {
    return words.size() == 1 ? show_stored(arguments, words[0]) : show_joined(arguments, words);
  }
  if (are_traces({words[0]})) {
    return make_error(ErrorCode::kInvalidArgument, "is a trace, not a command", words[0],
                      "options come before it: sonde debug --json " + words[0]);
  }
  SONDE_ASSIGN(const auto options, options_of(arguments));
  const auto outcome = record::run(options);
  if (!outcome) return not_started(outcome.error());
  // A program with wrong memory accesses fails the check.
  const bool passes = outcome->exit_status != 0 || outcome->signal != 0 || outcome->findings == 0;
  record::exit_like(passes ? outcome->exit_status : 1, outcome->signal);
}

constexpr const char* kText = R"(
debug - Run a command and say why its GPU failed: kernel, address, allocation, cause

Runs COMMAND, records nothing, and prints one report when a GPU fails: a memory fault, an error of
a queue (a trap, an illegal instruction, an access outside of LDS or private memory, a bad packet),
a call into HIP that failed just before the program ended with an error, a launch of a kernel for
which the GPU has no code, or a crash of the program while its GPUs had work. SIGQUIT (Ctrl-\) asks
for a report of what the GPUs are doing, and --hang for one when they hang: the arguments of
dispatches in flight, what each queue waits for, which rank has not come to a collective, and where
the program's threads are. The program then goes on and does not get the signal. sonde record
prints the same and stores it in the trace, which sonde debug FILE.rpd shows again. The program's
own output, signals and exit status do not change.

The report names the kernel with its grid and its arguments, the allocation that the address lies in
or next to, with the stack of the call that made it and of the one that freed it, other dispatches
in flight and the last 50 that finished, the code object, the instructions around the one that
failed if that is known, and a likely cause with its evidence. It is composed outside the program,
from what the program publishes as it runs, which costs 0.02 us per launch, and 0.2 us and a call
stack per allocation.

With --softgpu, the command runs on a software AMD GPU, which executes the machine code of kernels.
The report then also shows the waves that stopped, and the address that a lane accessed. On a card,
only the page of a memory fault is known, and waves are shown if AMD's debugger library
(librocm-dbgapi.so.0) is installed.

With --check as well, each access of each kernel is checked before it is made. An access that is out
of bounds or to freed memory ends the program, as a GPU fault does. After a race or a read of
uninitialised memory the program goes on, and sonde debug exits with 1 if the program exits with 0.

Arguments:
[--] COMMAND...

Options:
--softgpu  run the command on a software AMD GPU, which executes machine code
-o, --output FILE  write the report to this new file, in a job of several ranks to FILE with the
    rank in its name; %p and other keys as in sonde record, %p being sonde debug itself [standard
    error]
--core FILE  also keep the report in this new .rpd (the name as with -o), with registers and LDS of
    all waves, what the kernels' buffers hold, and code objects; sonde debug FILE shows it again, on
    any machine [no file]
--json  the report as JSON
--launch-stacks  also keep where each kernel was launched: some 15 us per launch
--no-cache  have PyTorch and ROCm allocate each buffer by itself, so that its bounds are known:
    slow, and an access out of bounds is likelier to fault
--check WHAT  check what kernels do with memory: memory (out of bounds, use after free, reads of
    uninitialised memory), race (between waves of a work group), or both, as memory,race; with
    --softgpu to the byte and the lane, without it memory alone, by pages [nothing]
--hang TIME  also report when no dispatch has begun or ended for TIME although there is work, or a
    queue waits; the program goes on [no report]
--all  show every wave with its registers, not only one for each place in the code
--save-code-objects DIR  save all loaded code objects into this folder when a GPU fails, named by
    their URIs; or those of a file of --core [none are saved]
--memory ADDRESS[:BYTES]  of a file of --core: what its memory holds there [256 bytes]
--spool-dir DIR  where the session directory is made [$SONDE_SPOOL_DIR, $TMPDIR or /tmp]

Examples:
sonde debug -- ./solver  why does it end with a memory access fault?
sonde debug --softgpu -- ./solver  on a machine without an AMD GPU
sonde debug --softgpu --check memory,race -- ./solver
    does a kernel access memory out of bounds, or do its waves race?
sonde debug --core fault.rpd -- ./solver  to look at it elsewhere
sonde debug fault.rpd  the report that --core or sonde record stored
sonde debug rank0.rpd rank1.rpd
    reports of ranks that had one each: who has not come to a collective
)";

}  // namespace

Command debug_command() { return make_command(kText, run); }

}  // namespace sonde::cli
