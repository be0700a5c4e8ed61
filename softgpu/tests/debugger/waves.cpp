// waves PID FILE: uses AMD's debugger library on a process of the same session whose waves the
// software GPU writes to FILE on request. Stops all waves, prints each wave's registers and LDS as
// the library reports them, as a line of JSON, requests the same from the software GPU (unless FILE
// is -), resumes the waves, waits, stops them once more, and detaches. If FILE is "die" it exits
// while the waves are stopped.
#include <unistd.h>

#include <cinttypes>
#include <fstream>

#include "client.h"

namespace {

std::string hex(const void* bytes, size_t count) {
  std::string text;
  char digits[4];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<const uint8_t*>(bytes)[i]);
    text += digits;
  }
  return text;
}

template <typename T>
T info(amd_dbgapi_wave_id_t wave, amd_dbgapi_wave_info_t query, const char* what) {
  T value{};
  good(amd_dbgapi_wave_get_info(wave, query, sizeof value, &value), what);
  return value;
}

void print_registers(amd_dbgapi_wave_id_t wave) {
  size_t count = 0;
  amd_dbgapi_register_id_t* registers = nullptr;
  if (!good(amd_dbgapi_wave_register_list(wave, &count, &registers), "registers")) return;
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    uint64_t bytes = 0;
    good(amd_dbgapi_register_get_info(registers[i], AMD_DBGAPI_REGISTER_INFO_NAME, sizeof name,
                                      &name),
         "name");
    good(amd_dbgapi_register_get_info(registers[i], AMD_DBGAPI_REGISTER_INFO_SIZE, sizeof bytes,
                                      &bytes),
         "size");
    std::vector<uint8_t> value(bytes);
    if (!good(amd_dbgapi_read_register(wave, registers[i], 0, bytes, value.data()), name)) continue;
    std::printf("%s\"%s\": \"%s\"", i == 0 ? "" : ", ", name, hex(value.data(), bytes).c_str());
    std::free(name);
  }
  std::free(registers);
}

std::string local_memory(amd_dbgapi_process_id_t process, amd_dbgapi_wave_id_t wave,
                         uint64_t bytes) {
  const auto architecture =
      info<amd_dbgapi_architecture_id_t>(wave, AMD_DBGAPI_WAVE_INFO_ARCHITECTURE, "architecture");
  constexpr uint64_t kLocal = 3;  // DWARF's number
  amd_dbgapi_address_space_id_t space{};
  if (!good(amd_dbgapi_dwarf_address_space_to_address_space(architecture, kLocal, &space), "LDS"))
    return {};
  std::vector<uint8_t> memory(bytes);
  if (bytes != 0 && !good(amd_dbgapi_read_memory(process, wave, 0, space, 0, &bytes, memory.data()),
                          "reading LDS"))
    return {};
  return hex(memory.data(), bytes);
}

void print_wave(amd_dbgapi_process_id_t process, amd_dbgapi_wave_id_t wave) {
  struct Coordinates {
    uint32_t of[3];
  };
  const auto group = info<Coordinates>(wave, AMD_DBGAPI_WAVE_INFO_WORKGROUP_COORD, "group");
  const auto dispatch =
      info<amd_dbgapi_dispatch_id_t>(wave, AMD_DBGAPI_WAVE_INFO_DISPATCH, "dispatch");
  uint64_t lds = 0;
  good(amd_dbgapi_dispatch_get_info(dispatch, AMD_DBGAPI_DISPATCH_INFO_GROUP_SEGMENT_SIZE,
                                    sizeof lds, &lds),
       "size of LDS");
  std::printf(
      "{\"group_id\": [%u, %u, %u], \"wave\": %u, \"state\": %d, \"reason\": %d, \"info_pc\": \"%#" PRIx64
      "\", \"info_exec\": \"%#" PRIx64 "\", \"lds\": \"%s\", \"registers\": {",
      group.of[0], group.of[1], group.of[2],
      info<uint32_t>(wave, AMD_DBGAPI_WAVE_INFO_WAVE_NUMBER_IN_WORKGROUP, "number"),
      static_cast<int>(info<amd_dbgapi_wave_state_t>(wave, AMD_DBGAPI_WAVE_INFO_STATE, "state")),
      static_cast<int>(
          info<amd_dbgapi_wave_stop_reasons_t>(wave, AMD_DBGAPI_WAVE_INFO_STOP_REASON, "reason")),
      info<uint64_t>(wave, AMD_DBGAPI_WAVE_INFO_PC, "pc"),
      info<uint64_t>(wave, AMD_DBGAPI_WAVE_INFO_EXEC_MASK, "exec"),
      local_memory(process, wave, lds).c_str());
  print_registers(wave);
  std::puts("}}");
}

bool stop_all(amd_dbgapi_process_id_t process) {
  if (!good(amd_dbgapi_process_set_progress(process, AMD_DBGAPI_PROGRESS_NO_FORWARD), "stop"))
    return false;
  for (const amd_dbgapi_wave_id_t wave : waves_of(process)) {
    if (info<amd_dbgapi_wave_state_t>(wave, AMD_DBGAPI_WAVE_INFO_STATE, "state") !=
        AMD_DBGAPI_WAVE_STATE_STOP)
      good(amd_dbgapi_wave_stop(wave), "stopping a wave");
  }
  take_events(process);
  return true;
}

bool let_go(amd_dbgapi_process_id_t process) {
  for (const amd_dbgapi_wave_id_t wave : waves_of(process))
    good(amd_dbgapi_wave_resume(wave, AMD_DBGAPI_RESUME_MODE_NORMAL, AMD_DBGAPI_EXCEPTION_NONE),
         "resuming a wave");
  return good(amd_dbgapi_process_set_progress(process, AMD_DBGAPI_PROGRESS_NORMAL), "go on");
}

void demand_from_softgpu(const std::string& file) {
  const std::string ask = file + ".ask";
  std::ofstream(ask) << "\n";
  for (int tries = 0; tries < 200 && access(ask.c_str(), F_OK) == 0; ++tries) usleep(20'000);
  usleep(300'000);  // until the lines are written
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const amd_dbgapi_process_id_t process = attach_to(std::atoi(argv[1]), argc > 3);
  take_events(process);
  if (!stop_all(process)) return 1;
  if (std::string(argv[2]) == "die") _exit(9);
  for (const amd_dbgapi_wave_id_t wave : waves_of(process)) print_wave(process, wave);
  if (argv[2][0] != '-') demand_from_softgpu(argv[2]);
  if (!let_go(process)) return 1;
  usleep(100'000);
  if (!stop_all(process)) return 1;
  std::printf("again: %zu\n", waves_of(process).size());
  if (!let_go(process)) return 1;
  if (!good(amd_dbgapi_process_detach(process), "detach")) return 1;
  good(amd_dbgapi_finalize(), "finalize");
  std::puts("detached");
  return 0;
}
