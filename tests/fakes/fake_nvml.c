/* A stand-in for libnvidia-ml.so.1: two GPUs whose values tests know. The second one is an old one
 * that tells little, not even its power, and may not be asked for its clocks. The process that asks
 * computes and draws on the first; 70 that are not known here compute on the second. With
 * FAKE_NVML_LOSES_ONE in the environment, the second falls off the bus after its first reading. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kOk, kUninitialized, kNotSupported = 3, kNoPermission, kTooSmall = 7, kGpuIsLost = 15 };
enum { kStrangers = 70 };

struct device {
  int number;
};
static struct device devices[2] = {{0}, {1}};
static int begun, readings;

static int told(const struct device* device, int error) {
  const int lost = device->number == 1 && readings > 1 && getenv("FAKE_NVML_LOSES_ONE") != NULL;
  return lost ? kGpuIsLost : error;
}

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
  readings += device->number == 1;
  rates[0] = 40u + (unsigned)device->number;
  rates[1] = 20u + (unsigned)device->number;
  return told(device, kOk);
}
/* With 1 GiB that the driver keeps for itself. */
int nvmlDeviceGetMemoryInfo(struct device* device, unsigned long long* memory) {
  memory[0] = 80ull << 30;
  memory[2] = 6ull << 30;
  memory[1] = memory[0] - memory[2];
  return told(device, kOk);
}
struct memory_apart {
  unsigned version;
  unsigned long long total, reserved, available, used;
};
int nvmlDeviceGetMemoryInfo_v2(struct device* device, struct memory_apart* memory) {
  if (device->number != 0 || memory->version != (sizeof *memory | 2u << 24)) {
    return told(device, kNotSupported);
  }
  memory->total = 80ull << 30;
  memory->reserved = 1ull << 30;
  memory->used = 5ull << 30;
  memory->available = memory->total - memory->reserved - memory->used;
  return told(device, kOk);
}
int nvmlDeviceGetPowerUsage(struct device* device, unsigned* milliwatts) {
  *milliwatts = 312500;
  return told(device, device->number == 0 ? kOk : kNotSupported);
}
int nvmlDeviceGetTemperature(struct device* device, unsigned sensor, unsigned* degrees) {
  *degrees = 61u + (unsigned)device->number;
  return told(device, sensor == 0 ? kOk : kNotSupported);
}
int nvmlDeviceGetClockInfo(struct device* device, unsigned type, unsigned* mhz) {
  *mhz = type == 2 ? 2619 : 1755;
  return told(device, device->number == 0 ? kOk : kNoPermission);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(struct device* device, unsigned long long* reasons) {
  *reasons = device->number == 0 ? 5 : 1; /* idle, and the power limit */
  return told(device, kOk);
}

static int text(struct device* device, char* buffer, unsigned length, const char* value) {
  if (device->number != 0) return told(device, kNotSupported);
  if (length <= strlen(value)) return kTooSmall;
  strcpy(buffer, value);
  return told(device, kOk);
}
int nvmlDeviceGetName(struct device* device, char* buffer, unsigned length) {
  return text(device, buffer, length, "NVIDIA Stand-in 100");
}
int nvmlDeviceGetUUID(struct device* device, char* buffer, unsigned length) {
  return text(device, buffer, length, "GPU-0123-4567");
}
int nvmlDeviceGetSerial(struct device* device, char* buffer, unsigned length) {
  return text(device, buffer, length, "165000001");
}

static int number(struct device* device, unsigned* value, unsigned known) {
  *value = known;
  return told(device, device->number == 0 ? kOk : kNotSupported);
}
int nvmlDeviceGetEnforcedPowerLimit(struct device* device, unsigned* milliwatts) {
  return number(device, milliwatts, 700000);
}
int nvmlDeviceGetDecoderUtilization(struct device* device, unsigned* percent, unsigned* period_us) {
  *period_us = 100000;
  return number(device, percent, 12);
}
int nvmlDeviceGetCurrPcieLinkGeneration(struct device* device, unsigned* generation) {
  return number(device, generation, 5);
}
int nvmlDeviceGetCurrPcieLinkWidth(struct device* device, unsigned* lanes) {
  return number(device, lanes, 16);
}
int nvmlDeviceGetPcieReplayCounter(struct device* device, unsigned* replays) {
  return number(device, replays, 7);
}
int nvmlDeviceGetTotalEnergyConsumption(struct device* device, unsigned long long* millijoules) {
  *millijoules = 123456789;
  return told(device, device->number == 0 ? kOk : kNotSupported);
}
int nvmlDeviceGetTotalEccErrors(struct device* device, unsigned kind, unsigned counter,
                                unsigned long long* errors) {
  *errors = kind == 0 && counter == 0 ? 3 : 0;
  return told(device, device->number == 0 ? kOk : kNotSupported);
}
struct field {
  unsigned id, scope;
  long long timestamp, latency_us;
  int value_type, result;
  unsigned long long value;
};
int nvmlDeviceGetFieldValues(struct device* device, int count, struct field* fields) {
  for (int i = 0; i < count; ++i) {
    fields[i].result = device->number == 0 && fields[i].id == 82 ? kOk : kNotSupported;
    fields[i].value = 49; /* the temperature of the memory */
  }
  return told(device, kOk);
}

struct process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};
static int processes(struct device* device, unsigned* count, struct process* into, int drawing) {
  const unsigned room = *count;
  *count = device->number == 0 ? 1 : drawing ? 0 : kStrangers;
  if (*count > room) return kTooSmall;
  for (unsigned i = 0; i < *count; ++i) {
    memset(&into[i], 0, sizeof into[i]);
    into[i].pid = device->number == 0 ? (unsigned)getpid() : 0x7f000000u + i;
    into[i].used_bytes = device->number == 0 ? 874ull << 20 : ~0ull;
  }
  return told(device, kOk);
}
int nvmlDeviceGetComputeRunningProcesses_v3(struct device* device, unsigned* count,
                                            struct process* into) {
  return processes(device, count, into, 0);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(struct device* device, unsigned* count,
                                             struct process* into) {
  return processes(device, count, into, 1);
}
