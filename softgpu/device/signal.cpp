#include "device/signal.h"

#include "device/amd_abi.h"

namespace softgpu {
namespace {

AmdSignal* at(uint64_t signal) { return reinterpret_cast<AmdSignal*>(signal); }

// The signal may be destroyed once its value changes, so what the interrupt needs is copied first.
AmdSignal what_interrupts(uint64_t signal) {
  return {.event_mailbox = at(signal)->event_mailbox, .event_id = at(signal)->event_id};
}

void interrupt(Host& host, const AmdSignal& signal) {
  if (!signal.event_mailbox) return;
  // Read before the mailbox is written: a waiter may destroy the signal after that.
  uint32_t event = signal.event_id;
  __atomic_store_n(reinterpret_cast<uint64_t*>(signal.event_mailbox), event, __ATOMIC_RELEASE);
  host.set_event(event);
}

}  // namespace

int64_t signal_value(uint64_t signal) {
  return __atomic_load_n(&at(signal)->value, __ATOMIC_ACQUIRE);
}

void complete_signal(Host& host, uint64_t signal, const Ticks* times) {
  if (!signal) return;
  if (times) {
    // Atomic, since packets of several queues may share a signal; the last one's times remain.
    __atomic_store_n(&at(signal)->start_ts, times->start, __ATOMIC_RELAXED);
    __atomic_store_n(&at(signal)->end_ts, times->end, __ATOMIC_RELAXED);
  }
  const AmdSignal before = what_interrupts(signal);
  __atomic_fetch_sub(&at(signal)->value, 1, __ATOMIC_ACQ_REL);
  interrupt(host, before);
}

void interrupt_signal(Host& host, uint64_t signal) {
  if (signal) interrupt(host, *at(signal));
}

void store_signal(Host& host, uint64_t signal, int64_t value) {
  if (!signal) return;
  const AmdSignal before = what_interrupts(signal);
  __atomic_store_n(&at(signal)->value, value, __ATOMIC_RELEASE);
  interrupt(host, before);
}

}  // namespace softgpu
