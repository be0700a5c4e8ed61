// sonde rocm-smi: the tables of rocm-smi 5.2, for scripts and habits. It reads and changes nothing.
#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/smi_device.h"
#include "cli/smi_output.h"
#include "cli/smi_sections.h"
#include "cli/terminal.h"

namespace sonde::cli {

namespace {

// The longest names of the options that are all answered alike: by them the parser knows the
// values.
constexpr const char* kSetting = "resetpoweroverdrive";
constexpr const char* kSettingValue = "setperfdeterminism";
constexpr const char* kNotShown = "showunreservablepages";

// What stands behind --showmeminfo, --device and --showpidgpus: each takes several values.
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
      return make_error(ErrorCode::kInvalidArgument, "not the number of a GPU: " + number,
                        "--device");
    }
    lists.devices.push_back(*device);
  }
  return lists;
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

Result<int> run(const Arguments& arguments) {
  for (const char* option : {kSetting, kSettingValue}) {
    if (!arguments.flag(option)) continue;
    return usage_error("rocm-smi",
                       make_error(ErrorCode::kUnsupported, "Sonde changes no device", "",
                                  "ROCm's own rocm-smi or amd-smi set does, as root"));
  }
  if (arguments.flag(kNotShown)) {
    return usage_error(
        "rocm-smi",
        make_error(ErrorCode::kUnsupported, "one of the options is not answered here", "",
                   "sonde rocm-smi --help lists those that are; ROCm's own "
                   "rocm-smi or amd-smi has the rest"));
  }
  const auto lists = lists_of(arguments);
  if (!lists) return usage_error("rocm-smi", lists.error());
  const bool csv = arguments.flag("csv"), json = arguments.flag("json");
  const std::string sys = arguments.value_or("sys-root", "/sys");
  const std::string proc = arguments.value_or("proc-root", "/proc");
  const std::vector<SmiDevice> all = smi_devices(sys);
  std::vector<int64_t> numbers = lists->devices;
  if (numbers.empty()) {
    for (size_t i = 0; i < all.size(); ++i) numbers.push_back(static_cast<int64_t>(i));
  }
  std::vector<Chosen> chosen;
  std::vector<int64_t> shown;
  for (const int64_t number : numbers) {
    if (number < 0 || number >= static_cast<int64_t>(all.size())) {
      print_error_line(fmt::format("rocm-smi: no such device card{}", number));
      return 0;  // as rocm-smi
    }
    if (std::find(shown.begin(), shown.end(), number) != shown.end()) continue;
    shown.push_back(number);
    chosen.push_back({number, &all[static_cast<size_t>(number)]});
  }
  SmiOutput out(csv    ? SmiOutput::Form::kCsv
                : json ? SmiOutput::Form::kJson
                       : SmiOutput::Form::kText,
                shown);
  Smi smi(out, chosen);
  bool any = !lists->memory.empty() || arguments.flag("showpids") || arguments.flag("showpidgpus");
  for (const Show& each : kFirst) any = any || arguments.flag(each.option);
  for (const Show& each : kLast) any = any || arguments.flag(each.option);
  if (!any && lists->devices.empty()) {
    if (csv || json) {
      SONDE_TRY(write_stdout("ERROR: Cannot print JSON/CSV output for concise output\n"));
      return 1;
    }
    smi.concise();
  }
  const auto show = [&](const Show& each) {
    if (arguments.flag(each.option)) (smi.*each.show)();
  };
  std::for_each(std::begin(kFirst), std::end(kFirst), show);
  if (arguments.flag("showpids")) smi.processes(proc, sys, all);
  if (arguments.flag("showpidgpus")) smi.gpus_of_processes(sys, lists->pids, all);
  std::for_each(std::begin(kLast), std::end(kLast), show);
  if (!lists->memory.empty()) smi.memory(lists->memory);
  if (!out.is_text() && !out.has_data()) {
    print_error_line("rocm-smi: no JSON data to report");
    return out.status();
  }
  SONDE_TRY(write_stdout(out.finish()));
  return out.status();
}

std::vector<Option> options() {
  return {
      {"-d,--device", "N", "only this GPU; more may follow", "", {}, false, true},
      {"-u,--showuse", "", "how busy it is", ""},
      {"--showmemuse", "", "how busy its memory is", ""},
      {"--showmeminfo",
       "TYPE",
       "bytes in use: vram, vis_vram, gtt or all; more may follow",
       "",
       {},
       false,
       true},
      {"-P,--showpower", "", "power", ""},
      {"-M,--showmaxpower", "", "the power cap", ""},
      {"-t,--showtemp", "", "temperatures", ""},
      {"-c,--showclocks", "", "all clocks", ""},
      {"-g,--showgpuclocks", "", "the clock of the compute units", ""},
      {"-f,--showfan", "", "the fan", ""},
      {"-p,--showperflevel", "", "the performance level", ""},
      {"--showpids", "", "processes with their memory", ""},
      {"--showpidgpus", "", "the GPUs of each process, or of the PIDs that follow", ""},
      {"-i,--showid", "", "the PCI device id", ""},
      {"--showbus", "", "the PCI address", ""},
      {"--showuniqueid", "", "the unique id", ""},
      {"--showserial", "", "the serial number", ""},
      {"-v,--showvbios", "", "the version of the VBIOS", ""},
      {"--showvoltage", "", "the voltage", ""},
      {"--showreplaycount", "", "PCIe packets that were sent again", ""},
      {"--json", "", "as JSON; not the table without options", ""},
      {"--csv", "", "as CSV; not the table without options", ""},
      {"--alldevices", "", "taken and without effect", ""},
      {"--loglevel", "LEVEL", "taken and without effect", ""},
      {"--proc-root", "DIR", "look here instead of in /proc", "/proc"},
      {"--sys-root", "DIR", "look here instead of in /sys", "/sys"},
      {"-a,-b,-e,-l,-m,-o,-S,-s,--showallinfo,--showhw,--showdriverversion,--showfwinfo,"
       "--showbw,--showevents,--showprofile,--showoverdrive,--showmemoverdrive,--showclkfrq,"
       "--showclkvolt,--showmclkrange,--showsclkrange,--showmemvendor,--showproductname,"
       "--showvoltagerange,--showpagesinfo,--showpendingpages,--showretiredpages,--showrasinfo,"
       "--showvc,--showxgmierr,--showtopo,--showtopoaccess,--showtopoweight,--showtopohops,"
       "--showtopotype,--showtoponuma,--showenergycounter,--shownodesbw,--showunreservablepages",
       "", "refused: not answered here", ""},
      {"-r,--resetclocks,--resetfans,--resetprofile,--resetxgmierr,--gpureset,"
       "--resetpoweroverdrive",
       "", "refused: Sonde changes no device", ""},
      {"--setclock,--setsclk,--setmclk,--setpcie,--setslevel,--setmlevel,--setvc,--setsrange,"
       "--setmrange,--setfan,--setperflevel,--setoverdrive,--setmemoverdrive,--setprofile,"
       "--setpoweroverdrive,--rasenable,--rasdisable,--rasinject,--load,--save,"
       "--setperfdeterminism",
       "VALUE",
       "refused: Sonde changes no device",
       "",
       {},
       false,
       true},
  };
}

}  // namespace

Command rocm_smi_command() {
  return {
      .name = "rocm-smi",
      .summary = "Answer as rocm-smi 5.2 does, without changing a device",
      .description =
          "Prints what rocm-smi of ROCm 5.2 prints, from the same files of /sys, for the options that "
          "look at use, memory, power, temperatures, clocks, processes and identity. Exit status 2 "
          "if a value is not there, as rocm-smi has it. Options that change a device are refused. "
          "sonde monitor shows more.",
      .positionals = {{"VALUE", "more values of --device, --showmeminfo or --showpidgpus", false,
                       true}},
      .options = options(),
      .examples = {{"sonde rocm-smi", "the table"},
                   {"sonde rocm-smi --showuse --showmeminfo vram --json", "for a script"}},
      .run = run};
}

}  // namespace sonde::cli
