#!/usr/bin/python3
"""Which GPU a row of rocprofv3's CSV tables is of, whatever --agent-index numbered the agents.

    rocprofv3_csv_test.py --sonde PATH [unittest options]"""
import import_case

# Node_Id, Logical_Node_Id, Agent_Type, Product_Name. Two sockets; of the GPUs of the machine, the program sees two.
TWO_SOCKETS = [(0, 0, "CPU", "EPYC"), (1, 1, "CPU", "EPYC")]
SEES_TWO = [*TWO_SOCKETS, (3, 2, "GPU", "MI A"), (5, 3, "GPU", "MI B")]


class Rocprofv3Csv(import_case.ImportCase):
    def load_set(self, agents, kernels, copies=()):
        def table(kind, header, rows):
            lines = [header, *(",".join(f'"{cell}"' for cell in row) for row in rows)]
            return self.write(("\n".join(lines) + "\n").encode(), f"t_{kind}.csv")
        table("agent_info", "Node_Id,Logical_Node_Id,Agent_Type,Product_Name", agents)
        table("memory_copy_trace", "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,"
              "Start_Timestamp,End_Timestamp",
              [("MEMORY_COPY", *words, 0, 500 + i, 600 + i) for i, words in enumerate(copies)])
        self.load_file(table("kernel_trace", "Kind,Agent_Id,Queue_Id,Dispatch_Id,Kernel_Name,Correlation_Id,"
                             "Start_Timestamp,End_Timestamp",
                             [("KERNEL_DISPATCH", agent, 1, i, "k", 0, 1000 + i, 2000 + i)
                              for i, agent in enumerate(kernels)]))

    def gpus(self):
        return [row[0] for row in self.ops()]

    def devices(self):
        return self.rows("SELECT gpu_id, name FROM sonde_device ORDER BY gpu_id")

    def test_relative(self):
        self.load_set([*TWO_SOCKETS, (5, 2, "GPU", "MI")], ["Agent 2"])
        self.assertEqual(self.gpus(), [0])
        self.assertEqual(self.devices(), [(0, "MI")])
        self.load_set(SEES_TWO, ["Agent 3", "Agent 2", "Agent 3"])
        self.assertEqual(self.gpus(), [1, 0, 1])
        self.assertEqual(self.devices(), [(0, "MI A"), (1, "MI B")])

    def test_absolute(self):
        """One kernel on what is no GPU by its logical number tells what all of the numbers are."""
        self.load_set(SEES_TWO, ["Agent 3", "Agent 3", "Agent 5"])
        self.assertEqual(self.gpus(), [0, 0, 1])
        self.assertEqual(self.devices(), [(0, "MI A"), (1, "MI B")])

    def test_numbers_alone_are_absolute(self):
        self.load_set(SEES_TWO, ["3"])
        self.assertEqual(self.gpus(), [0])

    def test_type_relative(self):
        self.load_set(SEES_TWO, ["GPU 1", "GPU 0"],
                      [("MEMORY_COPY_HOST_TO_DEVICE", "CPU 1", "GPU 0"),
                       ("MEMORY_COPY_DEVICE_TO_HOST", "GPU 1", "CPU 0")])
        self.assertEqual(self.gpus(), [0, 1, 1, 0])
        self.assertEqual(self.devices(), [(0, "MI A"), (1, "MI B")])

    def test_exports_of_some_gpus_keep_their_numbers(self):
        self.load_set([(0, 0, "CPU", ""), (3, 3, "GPU", "MI A"), (1001, 1001, "GPU", "MI B")],
                      ["Agent 3", "Agent 1001", "Agent 1"])
        self.assertEqual(self.gpus(), [2, 1000, 0])
        self.assertEqual(self.devices(), [(2, "MI A"), (1000, "MI B")])


if __name__ == "__main__":
    import_case.main()
