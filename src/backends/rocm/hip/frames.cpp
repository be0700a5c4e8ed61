#include "backends/rocm/hip/frames.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/errno_keeper.h"
#include "base/loaded_function.h"

namespace sonde::hip {

const FunctionInfo kOther = {"", Category::device, true, false, false, 0, 0, {}, 0, false};
const char* (*g_name_of)(uint32_t id);

namespace {

int (*g_peek_error)();
thread_local Frames* t_frames;
pthread_key_t g_key;
pthread_once_t g_once = PTHREAD_ONCE_INIT;

void release(void* frames) {
  t_frames = nullptr;
  free(frames);
}

Frames* make_frames() {
  const ErrnoKeeper keep;
  pthread_once(&g_once, [] { pthread_key_create(&g_key, release); });
  t_frames = static_cast<Frames*>(calloc(1, sizeof(Frames)));
  if (t_frames != nullptr) pthread_setspecific(g_key, t_frames);
  return t_frames;
}

}  // namespace

Frames* this_thread() { return t_frames != nullptr ? t_frames : make_frames(); }

void find_answers(void* library) {
  find_function(library, "hipPeekAtLastError", g_peek_error);
  find_function(library, "hipApiName", g_name_of);
}

uint32_t defined_as(uint32_t id, const FunctionInfo& function) {
  return function.defined != 0 ? function.defined : define_unknown(id, g_name_of);
}

int result_of(Frames* frames, const FunctionInfo& function) {
  if (!function.in_full || g_peek_error == nullptr) return 0;
  frames->asking = true;
  const int result = g_peek_error();
  frames->asking = false;
  return result;
}

}  // namespace sonde::hip
