#include "backends/rocm/hip/frames.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/errno_keeper.h"

namespace sonde::hip {
namespace {

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

}  // namespace sonde::hip
