// Signals, as the packet processor changes them.
#pragma once

#include <cstdint>

#include "device/host.h"

namespace softgpu {

struct Ticks {
  uint64_t start = 0, end = 0;
};

int64_t signal_value(uint64_t signal);
// Completes a packet: times, if the queue wants them, value minus one, then the interrupt.
void complete_signal(Host& host, uint64_t signal, const Ticks* times);
// Stores a value, then the interrupt. For queue errors and scratch requests.
void store_signal(Host& host, uint64_t signal, int64_t value);
// Only the interrupt: the value has been stored elsewhere.
void interrupt_signal(Host& host, uint64_t signal);

}  // namespace softgpu
