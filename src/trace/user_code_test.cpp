// Whose code a frame is, of samples and of calls of Python.
#include <gtest/gtest.h>

#include "trace/frames.h"
#include "trace/samples.h"

namespace sonde::trace {

TEST(UserCodeTest, NativeFilesOfTheUserAndOfLibraries) {
  EXPECT_FALSE(is_library_path("/jobs/ann/solver/build/solve"));
  EXPECT_FALSE(is_library_path("/jobs/ann/lib/sonde_study/libsolve.so"));
  EXPECT_TRUE(is_library_path("/usr/lib/x86_64-linux-gnu/libc.so.6"));
  EXPECT_TRUE(is_library_path("[vdso]"));
  EXPECT_TRUE(is_library_path("/jobs/ann/env/lib/python3.11/site-packages/torch/lib/libtorch.so"));
  EXPECT_TRUE(is_library_path("/opt/sonde/lib/sonde/libsonde-agent.so"));
  EXPECT_TRUE(is_library_path("/jobs/ann/sonde/build/lib/sonde/libsonde-torch.so"));
}

TEST(UserCodeTest, PythonFramesAsProfilersNameThem) {
  EXPECT_TRUE(is_user_frame("train.py(12): step"));
  EXPECT_TRUE(is_user_frame("/jobs/ann/train.py(12): step"));
  EXPECT_FALSE(is_user_frame("torch/nn/modules/module.py(1190): _call_impl"));
  EXPECT_FALSE(is_user_frame("/opt/sonde/lib/sonde/torch/hook.py(31): start"));
  // Its folder is in sys.path as it runs, so that torch.profiler cuts it off.
  EXPECT_FALSE(is_user_frame("sitecustomize.py(49): exec_module"));
}

}  // namespace sonde::trace
