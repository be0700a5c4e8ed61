// Whose code a frame is, of samples and of calls of Python.
#include <gtest/gtest.h>

#include "trace/frames.h"
#include "trace/samples.h"

namespace sonde::trace {

TEST(UserCodeTest, NativeFilesOfTheUserAndOfLibraries) {
  for (const char* path :
       {"/jobs/ann/solver/build/solve", "/jobs/ann/lib/sonde_study/libsolve.so"}) {
    EXPECT_FALSE(is_library_path(path)) << path;
  }
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libc.so.6", "[vdso]",
                           "/jobs/ann/env/lib/python3.11/site-packages/torch/lib/libtorch.so",
                           "/opt/sonde/lib/sonde/libsonde-agent.so",
                           "/jobs/ann/sonde/build/lib/sonde/libsonde-torch.so"}) {
    EXPECT_TRUE(is_library_path(path)) << path;
  }
}

TEST(UserCodeTest, PythonFramesAsProfilersNameThem) {
  for (const char* frame : {"train.py(12): step", "/jobs/ann/train.py(12): step"}) {
    EXPECT_TRUE(is_user_frame(frame)) << frame;
  }
  // The folder of sitecustomize.py is in sys.path as it runs, so that torch.profiler cuts it off.
  for (const char* frame :
       {"torch/nn/modules/module.py(1190): _call_impl",
        "/opt/sonde/lib/sonde/torch/hook.py(31): start", "sitecustomize.py(49): exec_module"}) {
    EXPECT_FALSE(is_user_frame(frame)) << frame;
  }
}

}  // namespace sonde::trace
