#!/usr/bin/python3
"""What `sonde import` reads of Nsight Systems' SQLite, against what nsys_file.py put in:
nsys_test.py --sonde SONDE."""

import import_case
import nsys_file
from tool_case import change, sql


class Nsys(import_case.ImportCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "report 1.sqlite"
        nsys_file.write(self.path)
        self.load_file(self.path, skipped=1)  # the range that ends before it starts

    def test_operations_are_on_the_gpus_of_the_machine(self):
        self.assertEqual(self.rows("SELECT description, opType, gpuId, queueId, start, end FROM op ORDER BY start"), [
            ("void gemm<float, 4>(float *)", "KernelExecution", 2, 7, 41100, 41400),
            ("void gemm<float, 4>(float *)", "KernelExecution", 5, 7, 42100, 42400),
            ("", "CopyHostToDevice", 2, 9, 42500, 42600),
            ("", "CopyDeviceToHost", 2, 9, 42600, 42650),
            ("", "CopyDeviceToDevice", 2, 9, 42650, 42660),
            ("Memcpy PtoP", "CopyDeviceToDevice", 2, 9, 42660, 42670),
            ("", "FillBuffer", 2, 9, 42700, 42710),
            ("CUDA graph 3", "Task", 2, 9, 42800, 42990)])

    def test_each_process_has_its_own_correlations(self):
        self.assertEqual(self.rows(
            "SELECT a.pid, a.apiName, o.start FROM rocpd_api_ops l JOIN api a ON a.id = l.api_id "
            "JOIN op o ON o.id = l.op_id ORDER BY o.start"), [
                (41, "cudaLaunchKernel", 41100), (42, "cudaLaunchKernel", 42100), (41, "cudaMemcpyAsync", 42500),
                (41, "cuMemcpyDtoH_v2", 42600), (41, "cudaMemsetAsync", 42700), (41, "cudaGraphLaunch", 42800)])

    def test_calls_and_markers(self):
        self.assertEqual(self.rows(
            "SELECT apiName, args, domain, start, end FROM api WHERE category NOT LIKE 'cuda_%' ORDER BY start"), [
                ("UserMarker", "step", "nvtx", 40000, 43000), ("UserMarker", "load é", "nvtx", 40100, 40200),
                ("UserMarker", "mark", "nvtx", 40300, 40300), ("UserMarker", "open", "nvtx", 40400, 40400),
                ("pthread_mutex_lock", "", "", 41800, 41810),
                ("cudnnConvolutionForward", "", "cuda", 41900, 41950)])
        self.assertEqual(self.rows("SELECT DISTINCT domain FROM api WHERE category = 'cuda_runtime'"), [("cuda",)])

    def test_geometry_and_sizes(self):
        self.assertEqual(self.rows("SELECT DISTINCT gridX, gridY, gridZ, workgroupX, workgroupY, groupSegmentSize, "
                                   "privateSegmentSize FROM rocpd_kernelapi WHERE gridX > 0"), [(1280, 2, 1, 128, 1, 1536, 16)])
        self.assertEqual(self.rows("SELECT bytes FROM sonde_copy ORDER BY start_ns"), [(4096,), (64,), (8,), (8,), (256,)])

    def test_who_and_where(self):
        self.assertEqual(self.rows("SELECT pid, executable, host FROM sonde_process ORDER BY pid"),
                         [(41, "/usr/bin/python3", "node7"), (42, "/usr/bin/python3", "node7")])
        self.assertEqual(self.rows("SELECT gpu_id, name, memory_bytes FROM sonde_device ORDER BY gpu_id"),
                         [(2, "NVIDIA H100", 80 << 30), (5, "NVIDIA H100", 80 << 30)])
        self.assertEqual(self.rows("SELECT DISTINCT name FROM sonde_thread WHERE name <> ''"), [("main",)])

    def test_every_command_reads_it_and_two_are_merged_by_the_time_of_day(self):
        self.assertIn("gemm", self.run_sonde("kernels", self.path).stdout)
        other = self.path.with_name("other.sqlite")
        nsys_file.write(other)
        change(other, "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + 500")
        merged = self.path.with_name("merged.rpd")
        self.run_sonde("merge", self.path, other, "-o", merged)
        starts = [start for start, in sql(merged, "SELECT start FROM op WHERE description LIKE '%gemm%' ORDER BY start")]
        self.assertEqual([start - starts[0] for start in starts], [0, 500, 1000, 1500])

    def test_older_versions_and_odd_files(self):
        old = self.path.with_name("old")  # no column that later versions have, and no table but two
        change(old, """
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
              streamId INTEGER, shortName INTEGER);
            INSERT INTO StringIds VALUES (1, 'k');
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 1, 2, 1), (9, 5, 1, 2, 1), (NULL, 5, 1, 2, 1)""")
        self.assertIn("; 2 skipped", self.run_sonde("import", old, "-o", f"{old}.rpd").stdout)
        self.assertEqual(sql(f"{old}.rpd", "SELECT description, gpuId, start, end FROM op"), [("k", 1, 5, 9)])
        other = self.path.with_name("other.db")
        change(other, "CREATE TABLE x (y)")
        done = self.run_sonde("import", "--as", "nsys", other, status=1)
        self.assertIn("not an export of Nsight Systems", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    import_case.main()
