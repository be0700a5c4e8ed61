// What is recorded in a running process that is attached to. HIP reports its calls, and the ops of
// every queue, through its own callbacks, which can be registered at any time; ROCTX is called
// through GOT words that can be changed; HSA's functions are in tables of its runtime; objects
// compiled with sonde.h say where they keep our table. PyTorch, too, accepts callbacks for its
// operators at any time.
//
// Called by the thread that attends to the process (cpu/attached.cpp), which knows this file only
// by the names of these functions.
#include <stdio.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/hip/hip.h"
#include "backends/rocm/late/annotations.h"
#include "backends/rocm/late/hsa.h"
#include "backends/rocm/late/imports.h"
#include "backends/rocm/late/notes.h"
#include "backends/rocm/late/opencl.h"
#include "backends/rocm/late/roctx.h"
#include "backends/rocm/late/torch.h"

namespace sonde::late {
namespace {

// Between looks at what the program has yet to start: half a second.
constexpr int kLooksBetween = 25;

bool g_has_hip, g_has_hsa, g_has_opencl, g_has_roctx, g_has_torch;
bool g_hsa_waits;  // for its runtime to start
int g_looks;

// Writes a line for each part that is recorded (+) or not, with the reason (-).
class Told {
 public:
  Told(char* text, size_t room) : text_(text), room_(room) {}
  void add(const char* what, const char* why_not) {
    const int length = why_not == nullptr ? snprintf(text_, room_, "+%s\n", what)
                                          : snprintf(text_, room_, "-%s: %s\n", what, why_not);
    if (length <= 0 || static_cast<size_t>(length) >= room_) return;
    text_ += length;
    room_ -= static_cast<size_t>(length);
  }

 private:
  char* text_;
  size_t room_;
};

// For a process without HIP, which otherwise reports these calls and ops.
const char* begin_hsa_alone() {
  const char* why_not = begin_hsa(true);
  g_has_hsa = why_not == nullptr;
  g_hsa_waits = !g_has_hsa && *why_not == '\0' && is_hsa_loaded();
  return why_not;
}

const char* begin_hip() {
  if (!g_has_hsa) begin_hsa(false);
  const char* why_not = hip::begin_attached();
  g_has_hip = why_not == nullptr;
  return why_not;
}

void begin_rocm(Told& told) {
  const bool has_hip = hip::loaded_library() != nullptr;
  if (rocm::wanted("hip") && has_hip) told.add("calls and operations of HIP", begin_hip());
  if (!rocm::wanted("hsa")) return;
  if (g_has_hip) {
    if (is_hsa_loaded()) told.add("calls of HSA", "HIP makes them, and its own calls are recorded");
    return;
  }
  const char* why_not = begin_hsa_alone();
  if (why_not != nullptr) {
    if (*why_not != '\0') told.add("calls and operations of HSA", why_not);
    return;
  }
  told.add("calls and copies of HSA, kernels of queues created from now on", nullptr);
  told.add("kernels of existing HSA queues", "a queue is intercepted when it is created");
}

const char* begin_calls_of_opencl() {
  const char* why_not = begin_opencl();
  g_has_opencl = why_not == nullptr;
  return why_not;
}

Annotations find_wanted_annotations() {
  return find_annotations(rocm::wanted("nvtx"), rocm::wanted("itt"));
}

const char* begin_operators() {
  const char* why_not = begin_torch();
  g_has_torch = why_not == nullptr;
  return why_not;
}

}  // namespace
}  // namespace sonde::late

extern "C" {

void sonde_late_begin(const struct sonde_agent* agent, const char* parts, char* told_text,
                      size_t room) {
  using namespace sonde;
  using namespace sonde::late;
  Told told(told_text, room);
  rocm::connect_attached(agent, parts);
  (void)objects_changed();
  begin_rocm(told);
  if (rocm::wanted("opencl")) {
    const char* why_not = begin_calls_of_opencl();
    if (g_has_opencl || *why_not != '\0') told.add("calls of OpenCL", why_not);
    if (g_has_opencl) {
      told.add("operations of OpenCL queues created from now on", nullptr);
      told.add("operations of existing queues", "OpenCL times a queue from its creation");
    }
  }
  if (set_notes()) told.add("markers of sonde.h", nullptr);
  const Annotations found = find_wanted_annotations();
  if (found.nvtx) told.add("markers of NVTX", nullptr);
  if (found.itt) told.add("markers of ITT", nullptr);
  if (rocm::wanted("roctx")) {
    const char* why_not = begin_roctx();
    g_has_roctx = true;
    if (why_not == nullptr || *why_not != '\0') told.add("markers of ROCTX", why_not);
  }
  if (rocm::wanted("torch") && has_torch()) told.add("operators of PyTorch", begin_operators());
}

void sonde_late_look() {
  using namespace sonde;
  using namespace sonde::late;
  const bool changed = objects_changed(), is_time = ++g_looks % kLooksBetween == 0;
  if (changed || (is_time && annotations_wait())) find_wanted_annotations();
  if (g_hsa_waits || (g_has_hsa && !is_hsa_recorded())) (void)begin_hsa_alone();
  if (!changed) return;
  set_notes();
  if (!g_has_opencl && rocm::wanted("opencl")) (void)begin_calls_of_opencl();
  if (g_has_roctx) look_for_roctx();
  if (!g_has_hip && !g_has_hsa && !g_hsa_waits && rocm::wanted("hsa")) (void)begin_hsa_alone();
  if (!g_has_hip && rocm::wanted("hip") && hip::loaded_library() != nullptr) (void)begin_hip();
  if (!g_has_torch && rocm::wanted("torch") && has_torch()) (void)begin_operators();
}

void sonde_late_end() {
  using namespace sonde::late;
  clear_notes();
  if (g_has_hip) sonde::hip::end_attached();
  end_hsa();
  end_opencl();
  if (g_has_roctx) end_roctx();
  if (g_has_torch) end_torch();
  g_has_hip = g_has_hsa = g_hsa_waits = g_has_opencl = g_has_roctx = g_has_torch = false;
}
}
