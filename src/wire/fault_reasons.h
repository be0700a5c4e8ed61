// Why a GPU's memory access failed, as in hsa_amd_memory_fault_reason_t. Used in a diagnostic by
// the traced program, and in the report of a fault.
#pragma once

#include <cstdint>

namespace sonde::wire {

struct FaultReason {
  uint32_t bit;
  const char* text;
};

constexpr FaultReason kFaultReasons[] = {
    {0x1, "page not present"},
    {0x2, "write to a read-only page"},
    {0x4, "execution of a non-executable page"},
    {0x8, "host-only memory"},
    {0x10, "DRAM ECC error"},
    {0x20, "address not exact"},
    {0x40, "SRAM ECC error"},
    {0x80000000, "hang"},
};

}  // namespace sonde::wire
