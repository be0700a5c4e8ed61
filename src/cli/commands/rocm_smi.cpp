// sonde rocm-smi: the tables of rocm-smi, for scripts and habits. It reads and changes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/roots.h"
#include "cli/smi_device.h"
#include "cli/smi_output.h"
#include "cli/smi_sections.h"
#include "cli/terminal.h"
#include "monitor/kept_file.h"

namespace sonde::cli {

namespace {

// The longest names of the options that are all answered alike; the parser finds values by them.
constexpr const char* kSetting = "resetcomputepartition";
constexpr const char* kSettingValue = "setcomputepartition";
constexpr const char* kNotShown = "showunreservablepages";

// What follows --showmeminfo, --device and --showpidgpus: each takes several values.
struct Lists {
  std::vector<std::string> memory;
  std::vector<int64_t> devices, pids;
};

Result<Lists> lists_of(const Arguments& arguments) {
  Lists lists;
  std::vector<std::string> words = arguments.values("showmeminfo");
  std::vector<std::string> numbers = arguments.values("device");
  for (const std::string& word : arguments.positionals()) {
    const bool number = parse_int(word).has_value();
    if (number && numbers.empty() && arguments.flag("showpidgpus")) {
      lists.pids.push_back(*parse_int(word));
    } else if (number && !numbers.empty()) {
      numbers.push_back(word);
    } else if (!number && !words.empty()) {
      words.push_back(word);
    } else {
      return make_error(ErrorCode::kInvalidArgument, "no option takes this", word);
    }
  }
  for (const std::string& word : words) {
    if (word == "all") {
      lists.memory = {"vram", "vis_vram", "gtt"};
      break;
    }
    if (word != "vram" && word != "vis_vram" && word != "gtt") {
      return make_error(ErrorCode::kInvalidArgument, "not vram, vis_vram, gtt or all: " + word,
                        "--showmeminfo");
    }
    lists.memory.push_back(word);
  }
  for (const std::string& number : numbers) {
    const auto device = parse_int(number);
    if (!device) {
      return make_error(ErrorCode::kInvalidArgument, "not a GPU number: " + number, "--device");
    }
    lists.devices.push_back(*device);
  }
  return lists;
}

Result<SmiStyle> style_of(const Arguments& arguments) {
  const char* variable = std::getenv("SONDE_ROCM_SMI");
  const std::string text = arguments.value_or("rocm", variable != nullptr ? variable : "5.2");
  const int64_t major = monitor::leading_number(text);
  if (major == 5) return SmiStyle::kFive;
  if (major == 6) return SmiStyle::kSix;
  if (major == 7) return SmiStyle::kSeven;
  return make_error(ErrorCode::kInvalidArgument, "not 5.2, 6 or 7: " + text,
                    arguments.value("rocm") ? "--rocm" : "SONDE_ROCM_SMI");
}

struct Show {
  const char* option;
  void (Smi::*show)();
};
// In the order in which rocm-smi shows them, whatever the order of the options.
constexpr Show kFirst[] = {
    {"showid", &Smi::ids},
    {"showuniqueid", &Smi::unique_ids},
    {"showvbios", &Smi::vbios},
    {"showtemp", &Smi::temperatures},
    {"showclocks", &Smi::clocks},
    {"showgpuclocks", &Smi::shader_clocks},
    {"showfan", &Smi::fans},
    {"showperflevel", &Smi::levels},
    {"showmaxpower", &Smi::max_powers},
    {"showpower", &Smi::powers},
    {"showuse", &Smi::use},
    {"showmemuse", &Smi::memory_use},
    {"showreplaycount", &Smi::replays},
    {"showserial", &Smi::serials},
};
constexpr Show kLast[] = {{"showvoltage", &Smi::voltages}, {"showbus", &Smi::buses}};

// What is refused, as an error; nothing if all options can be answered.
std::optional<Error> refused(const Arguments& arguments) {
  for (const char* option : {kSetting, kSettingValue}) {
    if (!arguments.flag(option)) continue;
    return make_error(ErrorCode::kInvalidArgument, "Sonde changes no device", "",
                      "ROCm's own rocm-smi or amd-smi set does, as root");
  }
  if (!arguments.flag(kNotShown)) return std::nullopt;
  return make_error(ErrorCode::kInvalidArgument, "one of the options is not answered here", "",
                    "sonde rocm-smi --help lists those that are; ROCm's own "
                    "rocm-smi or amd-smi has the rest");
}

// The number of the one that is not there, as an error.
Result<std::vector<Chosen>> chosen_of(std::vector<int64_t> numbers,
                                      const std::vector<SmiDevice>& all) {
  if (numbers.empty()) {
    for (size_t i = 0; i < all.size(); ++i) numbers.push_back(static_cast<int64_t>(i));
  }
  std::vector<Chosen> chosen;
  for (const int64_t number : numbers) {
    if (number < 0 || number >= static_cast<int64_t>(all.size())) {
      return make_error(ErrorCode::kNotFound, fmt::format("no such device card{}", number));
    }
    const bool again = std::any_of(chosen.begin(), chosen.end(),
                                   [&](const Chosen& each) { return each.number == number; });
    if (!again) chosen.push_back({number, &all[static_cast<size_t>(number)]});
  }
  return chosen;
}

bool anything_is_asked(const Arguments& arguments, const Lists& lists) {
  const auto asked = [&](const Show& each) { return arguments.flag(each.option); };
  return !lists.memory.empty() || arguments.flag("showpids") || arguments.flag("showpidgpus") ||
         std::any_of(std::begin(kFirst), std::end(kFirst), asked) ||
         std::any_of(std::begin(kLast), std::end(kLast), asked);
}

Result<int> answer(const Arguments& arguments, const Lists& lists, SmiStyle style) {
  const bool five = style == SmiStyle::kFive;
  const bool csv = arguments.flag("csv"), json = arguments.flag("json");
  SONDE_TRY(check_roots(arguments));
  const std::string sys = arguments.value_or("sys-root", "/sys");
  const std::vector<SmiDevice> all = smi_devices(sys);
  const auto chosen = chosen_of(lists.devices, all);
  if (!chosen) {
    print_error_line("rocm-smi: " + chosen.error().message);
    return 0;  // as rocm-smi
  }
  std::vector<int64_t> shown;
  for (const Chosen& each : *chosen) shown.push_back(each.number);
  SmiOutput out(csv    ? SmiOutput::Form::kCsv
                : json ? SmiOutput::Form::kJson
                       : SmiOutput::Form::kText,
                shown, five ? 80 : 90);
  Smi smi(out, *chosen, style);
  if (!anything_is_asked(arguments, lists) && lists.devices.empty()) {
    if (csv || json) {
      const char* kind = style == SmiStyle::kSeven ? "NOT_SUPPORTED" : "ERROR";
      SONDE_TRY(
          write_stdout(fmt::format("{}: Cannot print JSON/CSV output for concise output\n", kind)));
      return 1;
    }
    smi.concise();
  }
  const auto show = [&](const Show& each) {
    if (arguments.flag(each.option)) (smi.*each.show)();
  };
  std::for_each(std::begin(kFirst), std::end(kFirst), show);
  if (arguments.flag("showpids")) {
    smi.processes(arguments.value_or("proc-root", "/proc"), sys, all);
  }
  if (arguments.flag("showpidgpus")) smi.gpus_of_processes(sys, lists.pids, all);
  std::for_each(std::begin(kLast), std::end(kLast), show);
  if (!lists.memory.empty()) smi.memory(lists.memory);
  // From ROCm 6 on, a missing value is not a failure.
  const int status = five ? out.status() : 0;
  if (!out.is_text() && !out.has_data()) {
    print_error_line("rocm-smi: no JSON data to report");
    return status;
  }
  SONDE_TRY(write_stdout(out.finish()));
  return status;
}

Result<int> run(const Arguments& arguments) {
  if (const auto error = refused(arguments)) return *error;
  SONDE_ASSIGN(const auto style, style_of(arguments));
  SONDE_ASSIGN(const auto lists, lists_of(arguments));
  return answer(arguments, lists, style);
}

constexpr const char* kText = R"(
rocm-smi - Answer as rocm-smi does, without changing a device

Prints what rocm-smi of ROCm 5.2, 6 or 7 prints, from the same files of /sys, for the options that
look at use, memory, power, temperatures, clocks, processes and identity. In the form of 5.2, the
exit status is 2 if a value is not there. Options that change a device are refused. sonde monitor
shows more.

Arguments:
[VALUE...]  more values of --device, --showmeminfo or --showpidgpus

Options:
-d, --device N...  only this GPU; more may follow [all]
-u, --showuse  how busy it is
--showmemuse  how busy its memory is
--showmeminfo TYPE...  bytes in use: vram, vis_vram, gtt or all; more may follow [none]
-P, --showpower  power
-M, --showmaxpower  the power cap
-t, --showtemp  temperatures
-c, --showclocks  all clocks
-g, --showgpuclocks  the clock of the compute units
-f, --showfan  the fan
-p, --showperflevel  the performance level
--showpids  processes with their memory
--showpidgpus  the GPUs of each process, or of the PIDs that follow
-i, --showid  the PCI device id
--showbus  the PCI address
--showuniqueid  the unique id
--showserial  the serial number
-v, --showvbios  the version of the VBIOS
--showvoltage  the voltage
--showreplaycount  PCIe packets that were sent again
--json  as JSON; not the table without options
--csv  as CSV; not the table without options
--rocm VERSION  print what this version prints: 5.2, 6 or 7; scripts can set SONDE_ROCM_SMI instead
    [5.2]
--alldevices  taken and without effect
--loglevel LEVEL  taken and without effect [none]
--proc-root --sys-root
-a, -b, -e, -l, -m, -o, -S, -s, --showallinfo, --showhw, --showdriverversion, --showfwinfo,
    --showbw, --showevents, --showprofile, --showoverdrive, --showmemoverdrive, --showclkfrq,
    --showclkvolt, --showmclkrange, --showsclkrange, --showmemvendor, --showproductname,
    --showvoltagerange, --showpagesinfo, --showpendingpages, --showretiredpages, --showrasinfo,
    --showvc, --showxgmierr, --showtopo, --showtopoaccess, --showtopoweight, --showtopohops,
    --showtopotype, --showtoponuma, --showenergycounter, --shownodesbw, --showunreservablepages
    refused: not answered here
-r, --resetclocks, --resetfans, --resetprofile, --resetxgmierr, --gpureset, --resetperfdeterminism,
    --resetcomputepartition, --resetmemorypartition, --resetpoweroverdrive  refused: Sonde changes
    no device
--setclock, --setsclk, --setmclk, --setpcie, --setslevel, --setmlevel, --setvc, --setsrange,
    --setmrange, --setfan, --setperflevel, --setoverdrive, --setmemoverdrive, --setprofile,
    --setextremum, --setcomputepartition, --setmemorypartition, --setpoweroverdrive, --rasenable,
    --rasdisable, --rasinject, --load, --save, --setperfdeterminism VALUE...  refused: Sonde changes
    no device

Examples:
sonde rocm-smi  the table
sonde rocm-smi --rocm 6  the table of ROCm 6
sonde rocm-smi --showuse --showmeminfo vram --json  for a script
)";

}  // namespace

Command rocm_smi_command() { return make_command(kText, run); }

}  // namespace sonde::cli
