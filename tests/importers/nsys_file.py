"""Writes Nsight Systems' SQLite for tests, after NVIDIA's public description of the export: two processes
that both call their GPU device 0, with kernels, copies, a memset, a graph, NVTX, OS calls."""

import sqlite3

START = 1_700_000_000_000_000_000  # the session's begin as time of day
NAMES = ["", "cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cuMemcpyDtoH_v2", "void gemm<float, 4>(float *)",
         "gemm", "copy_kernel", "step", "python3", "main", "cudaMemsetAsync_v3020", "pthread_mutex_lock",
         "cudaGraphLaunch_v10000", "cudnnConvolutionForward", "NCCL Progress"]
TABLES = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER NOT NULL, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete INTEGER,
  l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER,
  uuid TEXT, chipName TEXT);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT,
  numMultiprocessors INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER, callchainId INTEGER);
CREATE TABLE CUDNN_EVENTS (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER, returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER,
  registersPerThread INTEGER, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
  blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
  dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
  copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER,
  bytes INTEGER NOT NULL, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
  domainId INTEGER, jsonText TEXT, binaryData TEXT);
"""


def global_tid(pid, tid=0):
    return 1 << 48 | pid << 24 | tid


def open_file(path):
    database = sqlite3.connect(path)
    database.executescript(TABLES)
    return database


def insert(database, table, **values):
    columns = ", ".join(f'"{name}"' for name in values)
    database.execute(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(values))})",
                     list(values.values()))


def write(path):
    """Process 41 is on GPU 2 and 42 on GPU 5; each launches under correlation 1."""
    database = open_file(path)
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(NAMES))
    insert(database, "TARGET_INFO_SESSION_START_TIME", utcEpochNs=START)
    insert(database, "TARGET_INFO_SYSTEM_ENV", name="Hostname", value="node7")
    for pid, gpu in ((41, 2), (42, 5)):
        insert(database, "PROCESSES", globalPid=global_tid(pid), pid=pid, name="/usr/bin/python3")
        insert(database, "ThreadNames", nameId=9, globalTid=global_tid(pid, pid))
        insert(database, "TARGET_INFO_GPU", id=gpu, name="NVIDIA H100", busLocation=f"0000:0{gpu}:00.0",
               totalMemory=80 << 30, smCount=132)
        insert(database, "TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=pid)
        insert(database, "CUPTI_ACTIVITY_KIND_RUNTIME", start=1000 * pid, end=1000 * pid + 50, correlationId=1,
               globalTid=global_tid(pid, pid), nameId=1)
        insert(database, "CUPTI_ACTIVITY_KIND_KERNEL", start=1000 * pid + 100, end=1000 * pid + 400, deviceId=0,
               streamId=7, correlationId=1, globalPid=global_tid(pid), demangledName=4, shortName=5, gridX=10,
               gridY=2, gridZ=1, blockX=128, blockY=1, blockZ=1, staticSharedMemory=1024,
               dynamicSharedMemory=512, localMemoryPerThread=16)
    main = global_tid(41, 41)
    where = {"deviceId": 0, "streamId": 9, "globalPid": global_tid(41)}
    for number, name in ((2, 2), (3, 3), (4, 10), (5, 12)):
        insert(database, "CUPTI_ACTIVITY_KIND_RUNTIME", start=42000 + 100 * number, end=42020 + 100 * number,
               correlationId=number, globalTid=main, nameId=name)
    insert(database, "CUPTI_ACTIVITY_KIND_MEMCPY", start=42500, end=42600, correlationId=2, bytes=4096, copyKind=1,
           **where)
    insert(database, "CUPTI_ACTIVITY_KIND_MEMCPY", start=42600, end=42650, correlationId=3, bytes=64, copyKind=2,
           **where)
    insert(database, "CUPTI_ACTIVITY_KIND_MEMCPY", start=42650, end=42660, correlationId=99, bytes=8, copyKind=8,
           **where)
    insert(database, "CUPTI_ACTIVITY_KIND_MEMCPY", start=42660, end=42670, correlationId=98, bytes=8, copyKind=10,
           **where)
    insert(database, "CUPTI_ACTIVITY_KIND_MEMSET", start=42700, end=42710, correlationId=4, bytes=256, value=0,
           **where)
    insert(database, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=42800, end=42990, correlationId=5, graphId=3, **where)
    insert(database, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=42000, end=42990, correlationId=6, syncType=1,
           **where)
    insert(database, "CUDNN_EVENTS", start=41900, end=41950, globalTid=main, nameId=13)
    insert(database, "OSRT_API", start=41800, end=41810, globalTid=main, nameId=11)
    insert(database, "NVTX_EVENTS", start=-900, eventType=75, text="NCCL", globalTid=main, domainId=1)
    insert(database, "NVTX_EVENTS", start=-800, eventType=39, textId=14, globalTid=main)
    insert(database, "NVTX_EVENTS", start=40000, end=43000, eventType=59, textId=7, globalTid=main)
    insert(database, "NVTX_EVENTS", start=40100, end=40200, eventType=60, text="load é", globalTid=main)
    insert(database, "NVTX_EVENTS", start=40300, eventType=34, text="mark", globalTid=main)
    insert(database, "NVTX_EVENTS", start=40400, eventType=59, text="open", globalTid=main)
    insert(database, "NVTX_EVENTS", start=40500, end=40400, eventType=59, text="backwards", globalTid=main)
    database.commit()
    database.close()
