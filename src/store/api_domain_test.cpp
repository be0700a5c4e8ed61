#include "store/api_domain.h"

#include <gtest/gtest.h>

namespace sonde::store {
namespace {

TEST(ApiDomain, IsToldFromTheName) {
  EXPECT_EQ(domain_of_api("hipMemcpy"), "hip");
  EXPECT_EQ(domain_of_api("__hipPushCallConfiguration"), "hip");
  EXPECT_EQ(domain_of_api("hsa_signal_wait_relaxed"), "hsa");
  EXPECT_EQ(domain_of_api("clFinish"), "opencl");
  EXPECT_EQ(domain_of_api("cudaLaunchKernel"), "cuda");
  EXPECT_EQ(domain_of_api("cuCtxSynchronize"), "cuda");
  EXPECT_EQ(domain_of_api("ncclAllReduce"), "rccl");
  EXPECT_EQ(domain_of_api("UserMarker"), "roctx");
}

TEST(ApiDomain, OtherWordsAreNoApi) {
  for (const char* name : {"", "client_send", "hippo", "custom", "cl", "train step"}) {
    EXPECT_EQ(domain_of_api(name), "") << name;
  }
}

}  // namespace
}  // namespace sonde::store
