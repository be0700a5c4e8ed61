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

// What to report, and what the recorder knows besides the board.
struct Occasion {
  enum class Kind {
    kFault,
    kCrash,
    kCallError,
    kHang,   // nothing has begun or ended since `since_ns`
    kAsked,  // a user asked for the state
    kCheck   // --check found something, and the program continues
  } kind = Kind::kFault;
  uint32_t fault = 0;      // for kFault: its index on the board
  std::string program;     // its command line; "" if unknown
  std::string ended;       // "signal 6", "exit 1"; "" while it runs
  std::string waves_file;  // of the software GPU, or in its format; "" if there is none
  std::string no_waves;    // why none, or not all, were read from a real GPU
  bool on_softgpu = false;
  int64_t time_ns = 0;  // when the program ended, or now
  int64_t since_ns = 0;
  const LiveProcess* process = nullptr;  // the board's process; after kFault it is held, or gone
  const Wave* found = nullptr;           // for kCheck
  // Boards of the session, for collectives; for kHang, kAsked.
  std::vector<const Board*> all;
  std::string wrong_architecture;  // for kCrash: that this was the reason
  std::string no_threads;          // for kHang, kAsked: why the threads are unknown
  bool untold = false;             // for kFault: the runtime did not report it (untold.h)
  size_t waves_from = 0;           // where the waves of this request begin in their file
};

FaultReport compose(const Board& board, CodeObjects& code, const Occasion& occasion,
                    const Namer& namer);

// cause.cpp: fills `cause`, `evidence` and `advice` of a report that is otherwise complete.
void find_cause(FaultReport& report);

// What the bits of a memory fault mean: "page not present, write to a read-only page".
std::string reasons_text(uint32_t reasons);

// What the GPU's page tables have for the page, as far as the reasons show: "not mapped for GPU 0";
// "" if they do not.
std::string gpu_page_text(uint32_t reasons, int gpu);

}  // namespace sonde::fault
