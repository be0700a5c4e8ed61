// ROCm in a process that is attached to while it runs. HIP tells of its calls, and of the
// operations of every queue, by its own callbacks, which it takes at any time; ROCTX is called
// through words that can be changed. HSA's table is handed out when its runtime starts, and never
// again. PyTorch takes callbacks for its operators at any time, too.
//
// Called by the thread that attends to the process (cpu/attached.cpp), which knows nothing of what
// is recorded but by these names.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/hip/hip.h"
#include "backends/rocm/late/imports.h"
#include "backends/rocm/late/roctx.h"
#include "backends/rocm/late/torch.h"

namespace sonde::late {
namespace {

bool g_has_hip, g_has_roctx, g_has_torch;

// Lines of what is recorded (+) and what is not and why (-).
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

bool is_loaded(const char* name) {
  void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

const char* begin_hip() {
  const char* why_not = hip::begin_attached();
  g_has_hip = why_not == nullptr;
  return why_not;
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
  if (rocm::wanted("hip") && hip::loaded_library() != nullptr) {
    told.add("calls and operations of HIP", begin_hip());
  }
  if (rocm::wanted("hsa") && is_loaded("libhsa-runtime64.so.1")) {
    told.add(g_has_hip ? "calls of HSA" : "calls and operations of HSA",
             "its runtime hands out its table once, when it starts");
  }
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
  if (!objects_changed()) return;
  if (g_has_roctx) look_for_roctx();
  if (!g_has_hip && rocm::wanted("hip") && hip::loaded_library() != nullptr) (void)begin_hip();
  if (!g_has_torch && rocm::wanted("torch") && has_torch()) (void)begin_operators();
}

void sonde_late_end() {
  using namespace sonde::late;
  if (g_has_hip) sonde::hip::end_attached();
  if (g_has_roctx) end_roctx();
  if (g_has_torch) end_torch();
  g_has_hip = g_has_roctx = g_has_torch = false;
}
}
