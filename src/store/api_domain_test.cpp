#include "store/api_domain.h"

#include <gtest/gtest.h>

namespace sonde::store {
namespace {

TEST(ApiDomain, IsToldFromTheName) {
  const std::pair<const char*, const char*> kDomains[] = {
      {"hipMemcpy", "hip"},         {"__hipPushCallConfiguration", "hip"},
      {"clFinish", "opencl"},       {"hsa_signal_wait_relaxed", "hsa"},
      {"ncclAllReduce", "rccl"},    {"cudaLaunchKernel", "cuda"},
      {"cuCtxSynchronize", "cuda"}, {"UserMarker", "roctx"}};
  for (const auto& [name, domain] : kDomains) EXPECT_EQ(domain_of_api(name), domain) << name;
}

TEST(ApiDomain, OtherWordsAreNoApi) {
  for (const char* name : {"", "client_send", "hippo", "custom", "cl", "train step"}) {
    EXPECT_EQ(domain_of_api(name), "") << name;
  }
}

}  // namespace
}  // namespace sonde::store
