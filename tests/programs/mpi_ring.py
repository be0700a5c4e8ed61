"""A program of MPI, without bindings: mpi_ring.py openmpi|mpich [ROUNDS]. In each round a rank makes
one ROCTX range around an MPI_Sendrecv with its neighbours and checks what arrives. The range's name
has the rank and the size as MPI knows them. Exit status 1 where a wrong number arrived."""

import ctypes
import sys

if sys.argv[1] == "openmpi":  # its handles are addresses of objects
    mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
    WORLD = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
    INT = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_int"))
    STATUS_IGNORE = ctypes.c_void_p(0)
else:  # and those of MPICH are numbers
    mpi = ctypes.CDLL("libmpich.so.12", mode=ctypes.RTLD_GLOBAL)
    WORLD, INT = ctypes.c_int(0x44000000), ctypes.c_int(0x4C000405)
    STATUS_IGNORE = ctypes.c_void_p(1)
roctx = ctypes.CDLL("libroctx64.so")
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10

mpi.MPI_Init(None, None)
rank, size, got = ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_int(-1)
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
mpi.MPI_Comm_size(WORLD, ctypes.byref(size))
left, right = (rank.value - 1) % size.value, (rank.value + 1) % size.value
wrong = 0
for i in range(rounds):
    roctx.roctxRangePushA(f"rank {rank.value} of {size.value}".encode())
    sent = ctypes.c_int(1000 * i + rank.value)
    mpi.MPI_Sendrecv(ctypes.byref(sent), 1, INT, right, 0, ctypes.byref(got), 1, INT, left, 0,
                     WORLD, STATUS_IGNORE)
    roctx.roctxRangePop()
    wrong += got.value != 1000 * i + left
mpi.MPI_Finalize()
sys.exit(1 if wrong else 0)
