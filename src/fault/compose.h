// From a board to a report: names, arguments, allocations, code, waves, and the likely cause.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fault/board.h"
#include "fault/code.h"
#include "fault/live.h"
#include "fault/report.h"
#include "fault/stacks.h"

namespace sonde::fault {

// What to tell of, and what the recorder knows beside the board.
struct Occasion {
  enum class Kind {
    kFault,
    kCrash,
    kCallError,
    kHang,   // nothing has begun or ended since `since_ns`
    kAsked,  // somebody wants to know how it stands
    kCheck   // --check found something, and the program goes on
  } kind = Kind::kFault;
  uint32_t fault = 0;      // of kFault: its place on the board
  std::string program;     // its command line; "" where it is not known
  std::string ended;       // "signal 6", "exit 1"; "" while it runs
  std::string waves_file;  // of the software GPU, or as it writes them; "" where there is none
  std::string no_waves;    // why none were read from cards, or not all
  bool on_softgpu = false;
  int64_t time_ns = 0;  // of an end, or now
  int64_t since_ns = 0;
  const LiveProcess* process = nullptr;  // whose board it is; of kFault it may wait, or be gone
  const Wave* found = nullptr;           // of kCheck
  std::vector<const Board*> all;         // boards of the session, for collectives; of kHang, kAsked
  std::string wrong_architecture;        // of kCrash: that it is due to that
  std::string no_threads;                // of kHang, kAsked: why the threads were not told
  bool untold = false;                   // of kFault: the program was not told (untold.h)
  size_t waves_from = 0;                 // where the waves that were asked for begin in their file
};

FaultReport compose(const Board& board, CodeObjects& code, const Occasion& occasion,
                    const Namer& namer);

// cause.cpp: fills `cause`, `evidence` and `advice` of a report that is otherwise complete.
void find_cause(FaultReport& report);

// What the bits of a memory fault mean: "page not present, write to a read-only page".
std::string reasons_text(uint32_t reasons);

// How the GPU's page tables have the page, as far as the reasons tell: "not mapped for GPU 0", ""
// if they do not.
std::string gpu_page_text(uint32_t reasons, int gpu);

}  // namespace sonde::fault
