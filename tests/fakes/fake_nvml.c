/* A stand-in for libnvidia-ml.so.1: two GPUs whose values tests know. The second one does not tell
 * its power, and may not be asked for its clocks. */
#include <string.h>

enum { kOk = 0, kNotSupported = 3, kNoPermission = 4, kUninitialized = 1 };

struct device {
  int number;
};
static struct device devices[2] = {{0}, {1}};
static int begun;

int nvmlInit_v2(void) {
  begun = 1;
  return kOk;
}
int nvmlShutdown(void) {
  begun = 0;
  return kOk;
}
const char* nvmlErrorString(int error) { return error == kOk ? "Success" : "Something failed"; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return begun ? kOk : kUninitialized;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device** device) {
  *device = &devices[index];
  return begun ? kOk : kUninitialized;
}
int nvmlDeviceGetPciInfo_v3(struct device* device, void* info) {
  /* char[16], then domain, bus, device, and more; 68 bytes in all */
  unsigned numbers[3] = {0, 0x17u + (unsigned)device->number, 0};
  memset(info, 0, 68);
  memcpy((char*)info + 16, numbers, sizeof numbers);
  return kOk;
}
int nvmlDeviceGetUtilizationRates(struct device* device, unsigned* rates) {
  rates[0] = 40u + (unsigned)device->number;
  rates[1] = 20u + (unsigned)device->number;
  return kOk;
}
int nvmlDeviceGetMemoryInfo(struct device* device, unsigned long long* memory) {
  memory[0] = 80ull << 30;
  memory[2] = (5ull + (unsigned)device->number) << 30;
  memory[1] = memory[0] - memory[2];
  return kOk;
}
int nvmlDeviceGetPowerUsage(struct device* device, unsigned* milliwatts) {
  *milliwatts = 312500;
  return device->number == 0 ? kOk : kNotSupported;
}
int nvmlDeviceGetTemperature(struct device* device, unsigned sensor, unsigned* degrees) {
  *degrees = 61u + (unsigned)device->number;
  return sensor == 0 ? kOk : kNotSupported;
}
int nvmlDeviceGetClockInfo(struct device* device, unsigned type, unsigned* mhz) {
  *mhz = type == 2 ? 2619 : 1755;
  return device->number == 0 ? kOk : kNoPermission;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(struct device* device, unsigned long long* reasons) {
  *reasons = device->number == 0 ? 5 : 1; /* idle, and the power limit */
  return kOk;
}
