/* The real NVTX version 3 header, where CUDA is installed, as a program uses it. Without: exit 77.
 */
#include <stdio.h>

#if __has_include("/usr/local/cuda/include/nvtx3/nvToolsExt.h")
#include "/usr/local/cuda/include/nvtx3/nvToolsExt.h"

int main(void) {
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "real header";
  event.category = 4;

  int errors = 0;
  const int injected = nvtxRangePushA("outer") == 0;
  nvtxNameCategoryA(4, "four");
  errors += nvtxRangePushEx(&event) != (injected ? 1 : -2);
  errors += nvtxRangePop() != (injected ? 1 : -2);
  errors += nvtxRangePop() != (injected ? 0 : -2);
  nvtxMarkW(L"w\u00efde");
  nvtxDomainHandle_t domain = nvtxDomainCreateA("real domain");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "real string");
  nvtxDomainMarkEx(domain, &event);
  const nvtxRangeId_t id = nvtxDomainRangeStartEx(domain, &event);
  nvtxDomainRangeEnd(domain, id);
  nvtxDomainDestroy(domain);
  printf("{\"ranges\":%d,\"marks\":%d,\"injected\":%d,\"errors\":%d}\n", injected ? 3 : 0,
         injected ? 2 : 0, injected, errors);
  return errors != 0;
}
#else
int main(void) {
  printf("{\"skipped\":\"no NVTX header\"}\n");
  return 77;
}
#endif
