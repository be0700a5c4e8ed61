"""What counters say of the hot kernels: the cause that check names, and what looks like it and must not."""
import subprocess

from counter_trace import CUS, MHZ, PEAK_BYTES_PER_US, CounterTrace
from verdict import Verdict

CAUSES = {"small-launches", "bank-conflicts", "uncoalesced-access", "low-occupancy", "latency-bound", "l2-misses",
          "memory-bound"}
LASTS = 100  # us


def cu_cycles(lasts=LASTS):
    return lasts * MHZ * CUS


def moving(share, reads=0.5, hits=0.5, lasts=LASTS, product="AMD Instinct MI210", **counters):
    """One kernel that moves this share of what the memory can, this part of it reads."""
    trace = CounterTrace(product)
    size = share * PEAK_BYTES_PER_US * lasts
    row = trace.kernel("kernel", lasts, read=size * reads, written=size * (1 - reads), hits=hits)
    accesses = row["TCP_TOTAL_CACHE_ACCESSES_sum"]
    row["TA_TOTAL_WAVEFRONTS_sum"] = accesses // counters.pop("accesses", 16)
    row.update(counters)
    return trace


class Causes(Verdict):
    def causes(self, trace):
        return {name: row for name, row in self.findings(trace, options=("--least", "0")).items() if name in CAUSES}

    def assert_cause(self, cause, trace, percent=None, metric=None):
        found = self.causes(trace)
        self.assertEqual(list(found), [cause])
        if percent is not None:
            self.assertAlmostEqual(found[cause]["saving_percentage"], percent, delta=0.5)
        if metric is not None:
            remarks = self.ask("check", trace)["check_remarks"]
            self.assertTrue(any(one.startswith(cause) and metric in one for one in remarks), remarks)

    def test_a_launch_of_fewer_waves_than_simds(self):
        """104 waves for 416 SIMDs: three quarters of the GPU have nothing to do."""
        trace = CounterTrace()
        trace.kernel("tiny", LASTS, waves=104, read=1 << 20, written=1 << 20)
        self.assert_cause("small-launches", trace, 50, "SQ_WAVES")

    def test_a_launch_of_a_wave_for_each_simd_is_not_too_small(self):
        """416 waves for 416 SIMDs."""
        trace = CounterTrace()
        trace.kernel("enough", LASTS, waves=416, read=1 << 20, written=1 << 20)
        self.assertNotIn("small-launches", self.causes(trace))

    def test_bank_conflicts_take_a_third_of_the_cycles(self):
        """The LDS serves conflicts in 30 % of the cycles of all CUs."""
        lost = round(0.3 * cu_cycles())
        trace = moving(0.1, SQ_LDS_BANK_CONFLICT=lost, SQ_LDS_IDX_ACTIVE=2 * lost)
        self.assert_cause("bank-conflicts", trace, 30, "2.1.17")

    def test_few_bank_conflicts_are_not_blamed(self):
        """Each access has one, but all of them take 2 % of the cycles."""
        lost = round(0.02 * cu_cycles())
        trace = moving(0.1, SQ_LDS_BANK_CONFLICT=lost, SQ_LDS_IDX_ACTIVE=2 * lost)
        self.assertNotIn("bank-conflicts", self.causes(trace))

    def test_bank_conflicts_behind_the_memory_are_not_blamed(self):
        """The kernel moves 90 % of what the memory can, conflicts or not."""
        lost = round(0.3 * cu_cycles())
        trace = moving(0.9, SQ_LDS_BANK_CONFLICT=lost, SQ_LDS_IDX_ACTIVE=2 * lost)
        self.assertNotIn("bank-conflicts", self.causes(trace))

    def test_every_lane_takes_a_line_of_its_own(self):
        """An instruction of a wave takes 64 accesses where 16 would do."""
        self.assert_cause("uncoalesced-access", moving(0.3, accesses=64), 50, "TA_TOTAL_WAVEFRONTS")

    def test_wide_elements_are_not_scattered(self):
        """16 bytes for each lane need 32 accesses."""
        self.assertNotIn("uncoalesced-access", self.causes(moving(0.3, accesses=32)))

    def test_scattered_access_beside_much_arithmetic_is_not_blamed(self):
        """The vector units are what is busy; the few accesses do not matter."""
        trace = CounterTrace()
        row = trace.kernel("compute", LASTS, read=1 << 20, written=1 << 20)
        row["SQ_ACTIVE_INST_VALU"] = round(0.8 * cu_cycles())
        row["TA_TOTAL_WAVEFRONTS_sum"] = row["TCP_TOTAL_CACHE_ACCESSES_sum"] // 64
        self.assertEqual(self.causes(trace), {})

    def test_waves_wait_for_registers(self):
        """In 40 % of the cycles of SIMDs a wave waits for vector registers; the memory is at 30 %."""
        trace = moving(0.3, SPI_RA_VGPR_SIMD_FULL_CSN=round(0.4 * cu_cycles()))
        self.assert_cause("low-occupancy", trace, 50, "6.2")

    def test_waves_wait_for_lds(self):
        """The same with the LDS, whose counter is of CUs, in a quarter of the cycles."""
        trace = moving(0.45, SPI_RA_LDS_CU_FULL_CSN=round(0.25 * cu_cycles() / 4))
        self.assert_cause("low-occupancy", trace, 25)

    def test_waiting_for_registers_at_the_peak_is_no_loss(self):
        """More waves would not make the memory faster."""
        trace = moving(0.9, SPI_RA_VGPR_SIMD_FULL_CSN=round(0.4 * cu_cycles()))
        self.assertNotIn("low-occupancy", self.causes(trace))

    def test_nothing_is_used_up(self):
        """The memory at 45 % of its peak is the most that is used: at 60 % it would take a quarter less."""
        self.assert_cause("latency-bound", moving(0.45), 25, "2.1.22")

    def test_short_kernels_are_not_bound_by_latency(self):
        """A kernel of 5 us takes as long as it takes to launch it."""
        self.assertEqual(self.causes(moving(0.1, lasts=5)), {})

    def test_reads_that_miss_the_l2(self):
        """80 % of the peak, 90 % of it reads, a tenth of the requests hits."""
        self.assert_cause("l2-misses", moving(0.8, reads=0.9, hits=0.1), 100 * 0.5 * 0.9 * 0.9, "2.1.20")

    def test_a_copy_has_no_misses_to_save(self):
        """It reads each byte once and writes it; nothing says how to be faster."""
        self.assert_cause("memory-bound", moving(0.8, hits=0.1))

    def test_hits_are_no_misses(self):
        """Three quarters of the requests hit."""
        self.assertEqual(list(self.causes(moving(0.8, reads=0.9, hits=0.75))), ["memory-bound"])

    def test_an_unknown_gpu_has_no_peaks(self):
        """Nothing is known of this GPU, so nothing is said of its kernels' bounds."""
        self.assertEqual(self.causes(moving(0.1, product="Nobody's GPU")), {})

    def test_the_largest_saving_comes_first(self):
        """300 us of bank conflicts in every second cycle, 100 us that are bound by latency."""
        trace = moving(0.3)
        lost = round(0.5 * cu_cycles(300))
        trace.kernel("tile", 300, read=1 << 20, written=1 << 20, SQ_LDS_BANK_CONFLICT=lost,
                     SQ_LDS_IDX_ACTIVE=2 * lost)
        self.assertEqual(list(self.causes(trace)), ["bank-conflicts", "latency-bound"])
        self.assertAlmostEqual(self.causes(trace)["bank-conflicts"]["saving_percentage"], 37.5, delta=0.5)


class Bounds(Verdict):
    """What sonde sol calls the bound of the kernel, and how far from the peak it says that it is."""

    def assert_bound(self, bound, percent, trace):
        rows = self.ask("sol", trace)["bounds"]
        self.assertEqual([row["bound"] for row in rows], [bound])
        self.assertAlmostEqual(rows[0]["of_bound"], percent, delta=0.5)
        self.assertNotIn("trust", rows[0])  # nothing says that a software GPU counted

    def test_conflicts_take_most_of_the_lds(self):
        """10 % of the cycles are accesses, 60 % conflicts; the memory is at 65 %."""
        trace = moving(0.65, SQ_LDS_BANK_CONFLICT=round(0.6 * cu_cycles()), SQ_LDS_IDX_ACTIVE=round(0.7 * cu_cycles()))
        self.assert_bound("LDS bank conflicts", 70, trace)

    def test_conflicts_are_part_of_what_the_lds_does(self):
        """45 % of the cycles are accesses, 30 % conflicts; the memory is at 50 %."""
        trace = moving(0.5, SQ_LDS_BANK_CONFLICT=round(0.3 * cu_cycles()), SQ_LDS_IDX_ACTIVE=round(0.75 * cu_cycles()))
        self.assert_bound("LDS bandwidth", 75, trace)

    def test_the_l2_takes_a_request_in_a_cycle(self):
        """Requests in half of the cycles of its 32 channels are no peak, as 128 bytes for each would make them."""
        requests = round(0.5 * LASTS * MHZ * 32)
        self.assert_bound("memory bandwidth", 70, moving(0.7, TCC_REQ_sum=requests))
        self.assert_bound("L2 bandwidth", 90, moving(0.7, TCC_REQ_sum=round(1.8 * requests)))


class Page(Verdict):
    def test_the_report_has_what_counters_say(self):
        """A trace with counters has its Speed-of-Light, memory chart, bounds and roofline on the page."""
        trace = moving(0.3, SQ_INSTS_VALU_FMA_F32=1_000_000)
        page = self.folder / "page.html"
        self.run_sonde("report", *self.write(trace), "-o", page)
        text = page.read_text()
        for title in ("2.1 System Speed-of-Light", "3.1 Memory Chart", "What bounds the hot kernels", "Roofline"):
            self.assertIn(f">{title}</h2>", text)
        for picture in ("System Speed-of-Light: of peak", "Memory chart", "Roofline: theoretical roofs"):
            self.assertIn(f'aria-label="{picture}', text)
        self.assertIn("latency-bound", text)

    def test_the_report_of_an_unknown_gpu_has_none_of_it(self):
        """Without peaks there is nothing to compare with."""
        page = self.folder / "page.html"
        self.run_sonde("report", *self.write(moving(0.3, product="Nobody's GPU")), "-o", page)
        self.assertNotIn("Memory Chart", page.read_text())


class Windows(Verdict):
    def spread(self):
        """Kernels of 100 us from 0, 150, 300 and 450 us on, each with half of the work of the one before."""
        trace = CounterTrace()
        for i, fmas in enumerate((8_000_000, 4_000_000, 2_000_000, 1_000_000)):
            trace.kernel(f"kernel_{i}", LASTS, read=64 << 20, fmas=fmas, gap=50)
        return trace

    def points(self, *options):
        return {row["dispatch"]: row for row in self.ask("roofline", self.spread(), options=("--by", "dispatch", *options))["points"]}

    def test_a_window_has_the_dispatches_that_overlap_it(self):
        """They keep their numbers, and count as a whole; one that ends where the window begins is not in it."""
        whole = self.points()
        self.assertEqual(len(whole), 4)
        for begin, end, inside in (("120us", "320us", [1, 2]), ("100us", "300us", [1]), ("99us", "301us", [0, 1, 2]), ("200us", "201us", [1]),
                                   ("50%", "100%", [2, 3]), ("-1us", "-0us", [3])):
            found = self.points(f"--from={begin}", f"--to={end}")
            self.assertEqual(sorted(found), inside, (begin, end))
            for number, row in found.items():
                self.assertEqual(row["gflop_per_s"], whole[number]["gflop_per_s"])
            self.assertAlmostEqual(sum(row["share"] for row in found.values()), 100)

    def test_figures_of_a_window_are_those_of_its_dispatches(self):
        """sol and roofline of 120 to 320 us are those of --dispatch 1:2."""
        for verb, options in (("sol", ("--all",)), ("roofline", ())):
            self.assertEqual(self.ask(verb, self.spread(), options=(*options, "--from", "120us", "--to", "320us")),
                             self.ask(verb, self.spread(), options=(*options, "--dispatch", "1:2")))

    def test_a_window_between_kernels_says_so(self):
        path, = self.write(self.spread())
        for verb in ("sol", "roofline"):
            done = subprocess.run([self.sonde, verb, path, "--from", "110us", "--to", "140us"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, f"sonde: {path}: no kernel with hardware counters is in the window\n"))
