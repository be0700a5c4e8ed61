// What a program sees when it opens the device files itself, as libhsakmt, libdrm and rocm-smi do.
// Runs under the launcher, on two gfx90a and a gfx906.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "driver/kfd_abi.h"

namespace {

constexpr int kGpus = 3, kGfx906 = 2;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool answers_as_kfd(int fd) {
  kfd_ioctl_get_version_args version{};
  return ioctl(fd, AMDKFD_IOC_GET_VERSION, &version) == 0 && version.major_version == 1;
}

bool answers_as_amdgpu(int fd) {
  char name[16] = {};
  drm_version version{};
  version.name = name;
  version.name_len = sizeof name;
  return ioctl(fd, DRM_IOCTL_VERSION, &version) == 0 && std::strcmp(name, "amdgpu") == 0;
}

template <typename Answer>
Answer ask_amdgpu(int fd, uint32_t query) {
  Answer answer{};
  drm_amdgpu_info request{};
  request.return_pointer = reinterpret_cast<uint64_t>(&answer);
  request.return_size = sizeof answer;
  request.query = query;
  EXPECT_EQ(ioctl(fd, DRM_IOCTL_AMDGPU_INFO, &request), 0);
  return answer;
}

uint32_t id_of_gpu(int gpu) {
  return static_cast<uint32_t>(std::stoul(read_file("/sys/devices/virtual/kfd/kfd/topology/nodes/" +
                                                    std::to_string(1 + gpu) + "/gpu_id")));
}

// Trap: libamd_smi 6.1 passes a size larger than its buffer for the answer.
TEST(Information, IsWrittenAsFarAsTheAnswerGoes) {
  const int fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct Place {
    drm_amdgpu_info_vram_gtt memory{};
    uint64_t beyond = 0x1122334455667788;
  };
  const auto place = ask_amdgpu<Place>(fd, AMDGPU_INFO_VRAM_GTT);
  EXPECT_EQ(place.beyond, 0x1122334455667788u);
  EXPECT_GT(place.memory.vram_size, 0u);
  EXPECT_GE(place.memory.vram_size, place.memory.vram_cpu_accessible_size);
  close(fd);
}

uint64_t property(const std::string& path, const std::string& wanted) {
  std::ifstream file(path);
  std::string key;
  uint64_t value = 0;
  while (file >> key >> value) {
    if (key == wanted) return value;
  }
  ADD_FAILURE() << path << " has no " << wanted;
  return 0;
}

// Trap: libdrm duplicates the descriptor itself, with fcntl.
TEST(Descriptors, EveryKindOfDuplicateIsTheDevice) {
  const int fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const int copies[] = {fcntl(fd, F_DUPFD_CLOEXEC, 3), fcntl(fd, F_DUPFD, 100), dup(fd),
                        dup2(fd, 200), dup3(fd, 201, O_CLOEXEC)};
  close(fd);
  EXPECT_FALSE(answers_as_amdgpu(fd));
  for (const int copy : copies) {
    ASSERT_GE(copy, 0);
    EXPECT_TRUE(answers_as_amdgpu(copy));
    close(copy);
  }
  const int plain = open("/dev/null", O_RDWR);  // gets the number of a closed device descriptor
  EXPECT_FALSE(answers_as_amdgpu(plain));
  close(plain);
}

TEST(Descriptors, ClosingEveryNumberLosesNothingElse) {
  for (int fd = 3; fd < 2000; ++fd) close(fd);  // as daemons do
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(answers_as_kfd(fd));
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  close(fd);
}

TEST(Descriptors, ShowTheDeviceNumbers) {
  struct stat info {};
  const int fd = open("/dev/dri/renderD129", O_RDWR);
  ASSERT_EQ(fstat(fd, &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_EQ(major(info.st_rdev), 226u);
  EXPECT_EQ(minor(info.st_rdev), 129u);
  close(fd);
  ASSERT_EQ(stat("/dev/dri/card2", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_EQ(minor(info.st_rdev), 2u);
  ASSERT_EQ(stat("/dev/kfd", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_EQ(open("/dev/dri/renderD140", O_RDWR), -1);
  EXPECT_EQ(errno, ENOENT);
}

// Trap: libdrm looks up the marketing name by DRM's answer, other tools by sysfs.
TEST(Identity, DrmSysfsAndTopologyAgree) {
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    const int fd = open(("/dev/dri/renderD" + std::to_string(128 + gpu)).c_str(), O_RDWR);
    const auto info = ask_amdgpu<drm_amdgpu_info_device>(fd, AMDGPU_INFO_DEV_INFO);
    close(fd);
    const std::string card = "/sys/class/drm/card" + std::to_string(gpu) + "/device/";
    const std::string node =
        "/sys/devices/virtual/kfd/kfd/topology/nodes/" + std::to_string(gpu + 1) + "/properties";
    EXPECT_EQ(info.device_id, std::stoul(read_file(card + "device"), nullptr, 16));
    EXPECT_EQ(info.pci_rev, std::stoul(read_file(card + "revision"), nullptr, 16));
    EXPECT_EQ(info.device_id, property(node, "device_id"));
    EXPECT_EQ(info.cu_active_number * property(node, "simd_per_cu"), property(node, "simd_count"));
    EXPECT_EQ(property(node, "drm_render_minor"), 128u + static_cast<unsigned>(gpu));
  }
}

TEST(Paths, ListsAndLinksLookLikeTheMachines) {
  int cards = 0;
  for (const auto& each : std::filesystem::directory_iterator("/sys/class/drm")) {
    cards += each.path().filename().string().starts_with("card");
  }
  EXPECT_EQ(cards, kGpus);
  char path[4096];
  ASSERT_NE(realpath("/sys/class/drm/card1/device", path), nullptr);
  EXPECT_STREQ(path, "/sys/devices/pci0000:c0/0000:c6:00.0");
  char* canonical = canonicalize_file_name("/sys/class/kfd/kfd");
  EXPECT_STREQ(canonical, "/sys/devices/virtual/kfd/kfd");
  free(canonical);
  EXPECT_EQ(access("/dev/kfd", R_OK | W_OK), 0);
  EXPECT_EQ(access("/dev/dri/card3", F_OK), -1);
  EXPECT_TRUE(std::filesystem::exists("/proc/self/maps"));
  EXPECT_NE(("\n" + read_file("/proc/modules")).find("\namdgpu "), std::string::npos);
}

// A child of vfork() shares its parent's memory and closes the descriptors that it does not pass
// on.
TEST(Processes, AChildOfVforkTakesNothingAway) {
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  const pid_t child = vfork();
  if (child == 0) {
    close(fd);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(answers_as_kfd(fd));
  close(fd);
}

TEST(Processes, AChildOfForkStartsCleanAndCanOpenAnew) {
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  const pid_t child = fork();
  if (child == 0) {
    // The kernel refuses processes other than the one that opened it.
    if (answers_as_kfd(fd)) _exit(1);
    const int own = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    if (!answers_as_kfd(own)) _exit(2);
    const std::string folder = "/sys/class/kfd/kfd/proc/" + std::to_string(getpid());
    _exit(access(folder.c_str(), F_OK) == 0 ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(answers_as_kfd(fd));
  int processes = 0;  // the child has ended by _exit()
  for (const auto& each : std::filesystem::directory_iterator("/sys/class/kfd/kfd/proc")) {
    ++processes;
    EXPECT_EQ(each.path().filename().string(), std::to_string(getpid()));
  }
  EXPECT_EQ(processes, 1);
  close(fd);
}

TEST(Memory, UseShowsInSysfsAndDrmUntilFreed) {
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  const std::string used = "/sys/class/drm/card1/device/mem_info_vram_used";
  const uint32_t id = id_of_gpu(1);
  ASSERT_EQ(read_file(used), "0\n");
  kfd_ioctl_alloc_memory_of_gpu_args request{};
  void* place = mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  request.va_addr = reinterpret_cast<uint64_t>(place);
  request.size = 1 << 20;
  request.gpu_id = id;
  request.flags = KFD_IOC_ALLOC_MEM_FLAGS_VRAM;
  ASSERT_EQ(ioctl(fd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &request), 0);
  EXPECT_EQ(read_file(used), "1048576\n");
  EXPECT_EQ(read_file("/sys/class/drm/card0/device/mem_info_vram_used"), "0\n");
  EXPECT_EQ(read_file("/sys/class/kfd/kfd/proc/" + std::to_string(getpid()) + "/vram_" +
                      std::to_string(id)),
            "1048576\n");
  kfd_ioctl_free_memory_of_gpu_args freed{.handle = request.handle};
  EXPECT_EQ(ioctl(fd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &freed), 0);
  EXPECT_EQ(read_file(used), "0\n");
  request.size = uint64_t{65} << 30;
  EXPECT_EQ(ioctl(fd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &request), -1);
  EXPECT_EQ(errno, ENOMEM);
  request.gpu_id = 1;
  EXPECT_EQ(ioctl(fd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &request), -1);
  EXPECT_EQ(errno, EINVAL);
  munmap(place, 1 << 20);
  close(fd);
}

TEST(PcSampling, IsOfferedForTheGpusThatHaveIt) {
  using softgpu::kfd::PcSample, softgpu::kfd::PcSampleInfo, softgpu::kfd::PcSampleOp;
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  const auto ask = [fd](int gpu, PcSampleOp op, PcSampleInfo* info, uint32_t session = 0) {
    PcSample request{};
    request.info = reinterpret_cast<uint64_t>(info);
    request.count = info != nullptr ? 1 : 0;
    request.op = op;
    request.gpu_id = id_of_gpu(gpu);
    request.session = session;
    errno = 0;
    const bool done = ioctl(fd, _IOWR('K', 0x85, PcSample), &request) == 0;
    return op == PcSampleOp::kCreate ? request.session : done ? request.count : 0;
  };
  PcSampleInfo info{};
  EXPECT_EQ(ask(kGfx906, PcSampleOp::kQuery, nullptr), 0u);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ask(0, PcSampleOp::kQuery, nullptr), 1u);
  EXPECT_EQ(ask(1, PcSampleOp::kQuery, &info), 1u);
  EXPECT_EQ(info.method, softgpu::kfd::PcSampleMethod::kHostTrap);
  EXPECT_EQ(info.least, 1u);
  info.interval = 1000;
  const uint32_t session = ask(0, PcSampleOp::kCreate, &info);
  EXPECT_NE(session, 0u);
  ask(0, PcSampleOp::kStart, nullptr, session);
  EXPECT_EQ(errno, 0);
  ask(1, PcSampleOp::kStop, nullptr, session);  // on another GPU
  EXPECT_EQ(errno, EINVAL);
  ask(0, PcSampleOp::kStop, nullptr, session);
  ask(0, PcSampleOp::kDestroy, nullptr, session);
  EXPECT_EQ(errno, 0);
  close(fd);
}

// Trap: without an offset in the answer libhsakmt assigns no slot in the events page, the device
// sends no interrupt, and ROCr waits forever. Every answer needs it, not only the first.
TEST(Events, EveryAnswerHasAnOffset) {
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  for (int i = 0; i < 3; ++i) {
    for (const uint32_t type : {KFD_IOC_EVENT_SIGNAL, KFD_IOC_EVENT_DEBUG_EVENT}) {
      kfd_ioctl_create_event_args event{};
      event.event_type = type;
      ASSERT_EQ(ioctl(fd, AMDKFD_IOC_CREATE_EVENT, &event), 0);
      EXPECT_GT(event.event_page_offset, 0u);
      EXPECT_LT(event.event_slot_index, KFD_SIGNAL_EVENT_LIMIT);
      EXPECT_EQ(event.event_trigger_data, event.event_id);
    }
  }
  close(fd);
}

// Trap: an AQL doorbell holds the index of the last packet, so 0 would mean that one is ready.
TEST(Queues, DoorbellsStartAsTheirQueueNeeds) {
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  alignas(4096) static uint8_t memory[4][8192];
  uint64_t offsets[4] = {};
  uint32_t ids[4] = {};
  for (int i = 0; i < 4; ++i) {  // an AQL and an SDMA queue on each of two GPUs
    const bool aql = i % 2 == 0;
    kfd_ioctl_create_queue_args request{};
    request.gpu_id = id_of_gpu(i / 2);
    request.queue_type = aql ? KFD_IOC_QUEUE_TYPE_COMPUTE_AQL : KFD_IOC_QUEUE_TYPE_SDMA;
    request.ring_base_address = reinterpret_cast<uint64_t>(memory[i]);
    request.ring_size = 4096;
    request.write_pointer_address = reinterpret_cast<uint64_t>(memory[i] + 4096 + 1024);
    request.read_pointer_address = reinterpret_cast<uint64_t>(memory[i] + 4096 + 1088);
    ASSERT_EQ(ioctl(fd, AMDKFD_IOC_CREATE_QUEUE, &request), 0);
    offsets[i] = request.doorbell_offset;
    ids[i] = request.queue_id;
    const uint64_t page = request.doorbell_offset & ~uint64_t{8191};
    void* at =
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(page));
    ASSERT_NE(at, MAP_FAILED);
    const auto* doorbell =
        reinterpret_cast<const uint64_t*>(static_cast<uint8_t*>(at) + (offsets[i] - page));
    EXPECT_EQ(*doorbell, aql ? ~uint64_t{0} : 0);
    munmap(at, 8192);
  }
  // libhsakmt masks off the bits above the page; each GPU has its own page.
  EXPECT_NE(offsets[0] & ~uint64_t{8191}, offsets[2] & ~uint64_t{8191});
  EXPECT_LT(offsets[2] & ((uint64_t{1} << 46) - 1), 8192u);
  for (const uint32_t id : ids) {
    kfd_ioctl_destroy_queue_args destroyed{.queue_id = id, .pad = 0};
    EXPECT_EQ(ioctl(fd, AMDKFD_IOC_DESTROY_QUEUE, &destroyed), 0);
    EXPECT_EQ(ioctl(fd, AMDKFD_IOC_DESTROY_QUEUE, &destroyed), -1);
  }
  close(fd);
}

char* map_shared(int fd, uint64_t offset) {
  void* at =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

// ROCr's virtual memory management: memory without an address from KFD, exported as a DMA buffer,
// imported and mapped by DRM.
TEST(Sharing, MemoryOfKfdIsMappedByDrm) {
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  const int render = open("/dev/dri/renderD129", O_RDWR | O_CLOEXEC);
  kfd_ioctl_alloc_memory_of_gpu_args memory{};
  memory.size = 1 << 20;
  memory.gpu_id = id_of_gpu(0);
  memory.flags = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
  ASSERT_EQ(ioctl(kfd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &memory), 0);
  softgpu::kfd::ExportDmabuf exported{.handle = memory.handle, .flags = O_CLOEXEC, .fd = 0};
  ASSERT_EQ(ioctl(kfd, _IOWR('K', 0x24, softgpu::kfd::ExportDmabuf), &exported), 0);
  const int dmabuf = static_cast<int>(exported.fd);
  EXPECT_EQ(lseek(dmabuf, 0, SEEK_END), 1 << 20);
  kfd_ioctl_get_dmabuf_info_args info{};
  info.dmabuf_fd = exported.fd;
  ASSERT_EQ(ioctl(kfd, AMDKFD_IOC_GET_DMABUF_INFO, &info), 0);
  EXPECT_EQ(info.size, 1u << 20);
  EXPECT_EQ(info.gpu_id, memory.gpu_id);
  EXPECT_EQ(info.flags, memory.flags);

  drm_prime_handle prime{};
  prime.fd = dmabuf;
  ASSERT_EQ(ioctl(render, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime), 0);
  void* place = mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  drm_amdgpu_gem_va mapping{};
  mapping.handle = prime.handle;
  mapping.operation = AMDGPU_VA_OP_MAP;
  mapping.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE;
  mapping.va_address = reinterpret_cast<uint64_t>(place);
  mapping.offset_in_bo = 65536;
  mapping.map_size = 65536;
  ASSERT_EQ(ioctl(render, DRM_IOCTL_AMDGPU_GEM_VA, &mapping), 0);
  std::strcpy(static_cast<char*>(place), "by the GPU");
  drm_amdgpu_gem_mmap at{};
  at.in.handle = prime.handle;
  ASSERT_EQ(ioctl(render, DRM_IOCTL_AMDGPU_GEM_MMAP, &at), 0);
  EXPECT_STREQ(map_shared(render, at.out.addr_ptr + 65536), "by the GPU");
  EXPECT_STREQ(map_shared(dmabuf, 65536), "by the GPU");
  mapping.operation = AMDGPU_VA_OP_UNMAP;
  EXPECT_EQ(ioctl(render, DRM_IOCTL_AMDGPU_GEM_VA, &mapping), 0);
  EXPECT_EQ(ioctl(render, DRM_IOCTL_AMDGPU_GEM_VA, &mapping), -1);
  drm_gem_close closed{.handle = prime.handle, .pad = 0};
  EXPECT_EQ(ioctl(render, DRM_IOCTL_GEM_CLOSE, &closed), 0);
  prime.fd = render;  // a file, but not a buffer
  EXPECT_EQ(ioctl(render, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime), -1);
  kfd_ioctl_free_memory_of_gpu_args freed{.handle = memory.handle};
  EXPECT_EQ(ioctl(kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &freed), 0);
  for (const int fd : {kfd, render, dmabuf}) close(fd);
}

TEST(Kfd, SharedVirtualMemoryHasAttributes) {
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  void* place = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  alignas(8) char memory[sizeof(kfd_ioctl_svm_args) + 2 * sizeof(kfd_ioctl_svm_attribute)] = {};
  auto& request = *reinterpret_cast<kfd_ioctl_svm_args*>(memory);
  request.start_addr = reinterpret_cast<uint64_t>(place);
  request.size = 8192;
  request.op = KFD_IOCTL_SVM_OP_SET_ATTR;
  request.nattr = 1;
  request.attrs[0] = {KFD_IOCTL_SVM_ATTR_ACCESS, id_of_gpu(1)};
  // libhsakmt encodes the size of the payload in the request number.
  const auto number = AMDKFD_IOC_SVM + (uint64_t{2 * sizeof request.attrs[0]} << _IOC_SIZESHIFT);
  ASSERT_EQ(ioctl(fd, number, &request), 0);
  request.op = KFD_IOCTL_SVM_OP_GET_ATTR;
  request.nattr = 2;
  request.attrs[1] = {KFD_IOCTL_SVM_ATTR_ACCESS, id_of_gpu(0)};
  ASSERT_EQ(ioctl(fd, number, &request), 0);
  EXPECT_EQ(request.attrs[0].type, uint32_t{KFD_IOCTL_SVM_ATTR_ACCESS});
  EXPECT_EQ(request.attrs[1].type, uint32_t{KFD_IOCTL_SVM_ATTR_NO_ACCESS});
  kfd_ioctl_set_xnack_mode_args mode{.xnack_enabled = 1};
  EXPECT_EQ(ioctl(fd, AMDKFD_IOC_SET_XNACK_MODE, &mode), -1);  // one GPU is a gfx906
  EXPECT_EQ(errno, EPERM);
  mode.xnack_enabled = -1;
  EXPECT_EQ(ioctl(fd, AMDKFD_IOC_SET_XNACK_MODE, &mode), 0);
  EXPECT_EQ(mode.xnack_enabled, 0);
  munmap(place, 8192);
  close(fd);
}

TEST(Kfd, TheRuntimeEnablesItselfOnceAndBeforeItsQueues) {
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  constexpr auto kEnable = _IOWR('K', 0x25, softgpu::kfd::RuntimeEnable);
  softgpu::kfd::RuntimeEnable enable{.r_debug = 0, .mode = 1, .capabilities = 0}, disable{};
  EXPECT_EQ(ioctl(fd, kEnable, &enable), 0);
  EXPECT_EQ(ioctl(fd, kEnable, &enable), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(ioctl(fd, kEnable, &disable), 0);
  EXPECT_EQ(ioctl(fd, kEnable, &enable), 0);
  EXPECT_EQ(ioctl(fd, kEnable, &disable), 0);
  close(fd);
}

TEST(Kfd, WhatIsNotEmulatedIsAnError) {
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  uint64_t arguments[32] = {};
  EXPECT_EQ(ioctl(fd, AMDKFD_IOC_CRIU_OP, arguments), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ioctl(fd, _IOWR('K', 0x82, kfd_ioctl_get_version_args), arguments), -1);  // debugger
  close(fd);
}

}  // namespace
