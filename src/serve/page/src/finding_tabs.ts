// Which table says more about a finding; by default why the GPU was idle, or where the CPU time went.
const TABS: Record<string, string> = {
  "launch-latency": "launches", "small-launches": "launches", "exposed-communication": "breakdown", "straggler": "breakdown", "collective-waits": "breakdown", "transfer-waits": "breakdown", "missing-ranks": "breakdown", "uneven-gpus": "breakdown",
  "pageable-copies": "copies", "device-copies": "copies", "small-copies": "copies", "memory-calls": "api", "allocations": "memory",
  "below-roofline": "kernels", "low-occupancy": "kernels", "memory-bound": "kernels", "latency-bound": "kernels", "cpu-operator": "operators",
  "bank-conflicts": "kernels", "uncoalesced-access": "kernels", "l2-misses": "kernels", "cpu-data-loading": "stacks",
};

export function tabFor(finding: string, hasGpu: boolean): string { return TABS[finding] ?? (hasGpu ? "idle" : "stacks"); }
