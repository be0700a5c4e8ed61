"""Derived metrics of rocprof: figures of a kernel from its counters, under AMD's names and by AMD's formulas."""

import re

# What a formula says beside counters: facts about the GPU.
_FACTS = ("CU_NUM", "SIMD_NUM", "SE_NUM", "MAX_WAVE_SIZE")
_ENGINES = {"gfx900": 4, "gfx906": 4, "gfx908": 8, "gfx90a": 8}  # shader engines
_WAVE = 64

# name: (formula, what it is). Of a counter with parts, _sum, _max and _avr are over them.
METRICS = {
    "GPUBusy": ("100 * GRBM_GUI_ACTIVE / GRBM_COUNT", "per cent of the time in which the GPU was busy"),
    "Wavefronts": ("SQ_WAVES", "waves"),
    "VALUInsts": ("SQ_INSTS_VALU / SQ_WAVES", "vector instructions of a wave"),
    "SALUInsts": ("SQ_INSTS_SALU / SQ_WAVES", "scalar instructions of a wave"),
    "SFetchInsts": ("SQ_INSTS_SMEM / SQ_WAVES", "scalar loads of a wave"),
    "VFetchInsts": ("(SQ_INSTS_VMEM_RD - TA_FLAT_READ_WAVEFRONTS_sum) / SQ_WAVES",
                    "vector loads of a wave, without flat ones"),
    "VWriteInsts": ("(SQ_INSTS_VMEM_WR - TA_FLAT_WRITE_WAVEFRONTS_sum) / SQ_WAVES",
                    "vector stores of a wave, without flat ones"),
    "FlatVMemInsts": ("(SQ_INSTS_FLAT - SQ_INSTS_FLAT_LDS_ONLY) / SQ_WAVES",
                      "flat instructions of a wave that use memory"),
    "LDSInsts": ("(SQ_INSTS_LDS - SQ_INSTS_FLAT_LDS_ONLY) / SQ_WAVES", "LDS instructions of a wave, without flat ones"),
    "FlatLDSInsts": ("SQ_INSTS_FLAT_LDS_ONLY / SQ_WAVES", "flat instructions of a wave that use the LDS"),
    "GDSInsts": ("SQ_INSTS_GDS / SQ_WAVES", "GDS instructions of a wave"),
    "VALUUtilization": ("100 * SQ_THREAD_CYCLES_VALU / (SQ_ACTIVE_INST_VALU * MAX_WAVE_SIZE)",
                        "per cent of the lanes that are on in vector instructions"),
    "VALUBusy": ("100 * SQ_ACTIVE_INST_VALU * 4 / SIMD_NUM / GRBM_GUI_ACTIVE",
                 "per cent of the time in which vector instructions ran"),
    "SALUBusy": ("100 * SQ_INST_CYCLES_SALU * 4 / SIMD_NUM / GRBM_GUI_ACTIVE",
                 "per cent of the time in which scalar instructions ran"),
    "FetchSize": ("(TCC_EA_RDREQ_32B_sum * 32 + (TCC_EA_RDREQ_sum - TCC_EA_RDREQ_32B_sum) * 64) / 1024",
                  "KiB read from memory"),
    "WriteSize": ("((TCC_EA_WRREQ_sum - TCC_EA_WRREQ_64B_sum) * 32 + TCC_EA_WRREQ_64B_sum * 64) / 1024",
                  "KiB written to memory"),
    "L2CacheHit": ("100 * TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)", "per cent of requests that the L2 had"),
    "MemUnitBusy": ("100 * TA_TA_BUSY_max / GRBM_GUI_ACTIVE / SE_NUM",
                    "per cent of the time in which the busiest memory unit was"),
    "MemUnitStalled": ("100 * TCP_TCP_TA_DATA_STALL_CYCLES_max / GRBM_GUI_ACTIVE / SE_NUM",
                       "per cent of the time in which a memory unit was stalled"),
    "WriteUnitStalled": ("100 * TCC_EA_WRREQ_STALL_max / GRBM_GUI_ACTIVE",
                         "per cent of the time in which writes were stalled"),
    "ALUStalledByLDS": ("100 * SQ_WAIT_INST_LDS * 4 / SQ_WAVES / GRBM_GUI_ACTIVE",
                        "per cent of the time in which waves waited for the LDS"),
    "LDSBankConflict": ("100 * SQ_LDS_BANK_CONFLICT / GRBM_GUI_ACTIVE / CU_NUM",
                        "per cent of the time in which the LDS had bank conflicts"),
}

_NAME = re.compile(r"[A-Z][A-Z0-9_a-z]*")


def counters(name):
    """What the formula of a derived metric is made of: counters, with _sum, _max or _avr."""
    found = dict.fromkeys(_NAME.findall(METRICS[name][0]))
    return [one for one in found if one not in _FACTS]


def facts(architecture, compute_units):
    return {"CU_NUM": compute_units, "SIMD_NUM": 4 * compute_units, "SE_NUM": _ENGINES.get(architecture),
            "MAX_WAVE_SIZE": _WAVE}


def value(name, values):
    """From counters and facts; "" where one is missing, or a divisor is zero."""
    needed = _NAME.findall(METRICS[name][0])
    if any(values.get(one) is None for one in needed):
        return ""
    try:
        return repr(float(eval(METRICS[name][0], {"__builtins__": {}}, values)))  # pylint: disable=eval-used
    except ZeroDivisionError:
        return ""


def listing():
    """As rocprof --list-derived prints them."""
    lines = ["Derived metrics:", ""]
    for name, (formula, about) in METRICS.items():
        lines += [f"  {name} : {about}", f"      {name} = {formula}", ""]
    return "\n".join(lines)
