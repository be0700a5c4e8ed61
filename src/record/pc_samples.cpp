#include "record/pc_samples.h"

#include <map>
#include <tuple>

#include "fault/board.h"
#include "fault/code.h"
#include "fault/waves.h"
#include "record/faults.h"
#include "store/pc_samples.h"

namespace sonde::record {
namespace {

struct Count {
  int64_t samples = 0, lanes = 0;
};
struct KernelSamples {
  std::map<uint64_t, Count> by_pc;
};
using KernelKey = std::tuple<int64_t, int64_t, std::string>;  // pid, GPU, kernel

std::map<KernelKey, KernelSamples> read_samples(const std::string& path) {
  std::map<KernelKey, KernelSamples> kernels;
  fault::each_sample(path, [&](const fault::PcSample& sample) {
    Count& count = kernels[{sample.pid, sample.gpu, sample.kernel}].by_pc[sample.pc];
    ++count.samples;
    count.lanes += __builtin_popcountll(sample.exec);
  });
  return kernels;
}

// All instructions of a kernel, and of the functions it calls that have samples.
std::vector<store::PcLine> lines_of(const std::string& name, const KernelSamples& kernel,
                                    fault::CodeObjects& code) {
  std::map<uint64_t, fault::DisassemblyLine> found;
  uint64_t entry = 0;
  for (const auto& [pc, count] : kernel.by_pc) {
    if (entry == 0) entry = code.entry_of(pc, name);
    if (found.count(pc) != 0) continue;
    for (fault::DisassemblyLine& line : code.disassemble_all(pc)) {
      found.emplace(line.address, std::move(line));
    }
    if (found.count(pc) == 0) found[pc].text = code.instruction_at(pc);
  }
  std::vector<store::PcLine> lines;
  for (const auto& [address, line] : found) {
    const auto count = kernel.by_pc.find(address);
    const Count samples = count == kernel.by_pc.end() ? Count() : count->second;
    lines.push_back({static_cast<int64_t>(address - entry), line.text, samples.samples,
                     samples.lanes, line.file, line.line});
  }
  return lines;
}

}  // namespace

Status add_pc_samples(store::Database& database, const std::string& session) {
  const auto kernels = read_samples(waves_file(session));
  std::map<int64_t, fault::CodeObjects> processes;
  for (const std::string& path : fault::list_boards(session)) {
    const auto board = fault::read_board(path);
    if (board) processes.try_emplace(board->state->pid, board->objects);
  }
  for (const auto& [key, samples] : kernels) {
    const auto& [pid, gpu, kernel] = key;
    const auto process = processes.find(pid);
    if (process == processes.end()) continue;
    SONDE_TRY(store::add_pc_lines(database, pid, gpu, kernel,
                                  lines_of(kernel, samples, process->second)));
  }
  return ok_status();
}

}  // namespace sonde::record
