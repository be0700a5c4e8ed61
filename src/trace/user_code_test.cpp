// Whose code a frame is, of samples and of calls of Python.
#include <gtest/gtest.h>

#include "trace/frames.h"
#include "trace/modules.h"

namespace sonde::trace {

TEST(UserCodeTest, NativeFilesOfTheUserAndOfLibraries) {
  for (const char* path :
       {"/jobs/ann/solver/build/solve", "/jobs/ann/lib/sonde_study/libsolve.so"}) {
    EXPECT_FALSE(is_library_path(path)) << path;
  }
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libc.so.6", "[vdso]", "linux-vdso.so.1",
                           "/usr/local/nvidia/lib64/libcuda.so.1",
                           "/jobs/ann/env/lib/python3.11/site-packages/torch/lib/libtorch.so",
                           "/opt/sonde/lib/sonde/libsonde-agent.so",
                           "/jobs/ann/sonde/build/lib/sonde/libsonde-torch.so"}) {
    EXPECT_TRUE(is_library_path(path)) << path;
  }
}

TEST(UserCodeTest, APythonOfTheUsersHasLibrariesToo) {
  Modules modules;
  modules.add(1, "/jobs/ann/miniconda/bin/python3.11");
  modules.add(2, "/jobs/bob/.pyenv/versions/3.12.1/lib/libpython3.12.so.1.0");
  modules.add(3, "/jobs/ann/solver/libsolve.so");
  for (const char* path :
       {"/jobs/ann/miniconda/bin/python3.11", "/jobs/ann/miniconda/lib/libmkl_rt.so.2",
        "/jobs/bob/.pyenv/versions/3.12.1/lib/python3.12/lib-dynload/math.so"}) {
    EXPECT_TRUE(modules.is_library(path)) << path;
  }
  for (const char* path : {"/jobs/ann/solver/libsolve.so", "/jobs/ann/miniconda3/lib/own.so",
                           "/jobs/ann/miniconda/own.so", "/jobs/bob/lib/libsolve.so"}) {
    EXPECT_FALSE(modules.is_library(path)) << path;
  }
  EXPECT_TRUE(is_interpreter_path("/usr/bin/python3.11"));
  EXPECT_FALSE(is_interpreter_path("/jobs/ann/python3/solve"));
  EXPECT_EQ(modules.path(3), "/jobs/ann/solver/libsolve.so");
}

TEST(UserCodeTest, HeadersOfTheSystem) {
  EXPECT_TRUE(is_system_header("/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h"));
  EXPECT_TRUE(is_system_header("/opt/gcc-14/lib/gcc/x86_64/14/../../../../include/c++/14/mutex"));
  EXPECT_FALSE(is_system_header("/jobs/ann/solver/include/solve.h"));
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
