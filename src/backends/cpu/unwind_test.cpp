// Compares the unwinder with glibc's backtrace(), an independent reader of the same .eh_frame, in
// all situations that compiled programs get into.
#include "backends/cpu/unwind.h"

#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/bounds_test_support.h"
#include "backends/cpu/eh_frame.h"
#include "backends/cpu/modules.h"

// A function of 20,000 bytes whose frame grows and shrinks at places that are not aligned.
extern "C" void sonde_test_large();
asm(R"(
.text
.globl sonde_test_large
sonde_test_large:
.cfi_startproc
.skip 5001, 0x90
.cfi_def_cfa_offset 24
.skip 1199, 0x90
.cfi_def_cfa_offset 48
.skip 9000, 0x90
.cfi_remember_state
.cfi_def_cfa_offset 8
.skip 300, 0x90
.cfi_restore_state
.skip 4500, 0x90
.cfi_endproc
)");

namespace sonde::cpu {

namespace {

constexpr uint64_t kLargeBytes = 20000;

struct Both {
  std::vector<uint64_t> ours, glibcs;
  uint32_t flags = 0;
};

// Both stacks, from the caller outwards; this function's frame is left out, because the two are
// taken at different places in it.
[[gnu::noinline]] Both take(const StackBounds& bounds) {
  static Stack stack;
  static RecentRules recent;
  ucontext_t context;
  void* addresses[wire::kMaxFrames + 1];
  const int count = backtrace(addresses, wire::kMaxFrames + 1);
  getcontext(&context);
  unwind(context, bounds, stack, &recent);
  Both both;
  both.flags = stack.flags;
  for (uint32_t i = 1; i < stack.count; ++i) both.ours.push_back(stack.frames[i].address + 1);
  // A sanitizer's backtrace() adds a frame of its own.
  int first = 0;
  while (first < count && addresses[first] != __builtin_return_address(0)) ++first;
  for (int i = first; i < count; ++i) {
    both.glibcs.push_back(reinterpret_cast<uint64_t>(addresses[i]));
  }
  return both;
}

Both g_taken;

[[gnu::noinline]] void nested(int depth, const StackBounds& bounds) {
  if (depth == 0) {
    g_taken = take(bounds);
    return;
  }
  volatile char* room = static_cast<char*>(alloca(static_cast<size_t>(depth) * 40));
  room[0] = 1;
  nested(depth - 1, bounds);
  room[1] = 2;
}

StackBounds g_bounds;
int compare_and_take(const void* a, const void* b) {
  if (g_taken.ours.empty()) nested(3, g_bounds);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

// A thread that blocks below frames which only a frame pointer can unwind.
struct Waiting {
  int pipe[2] = {-1, -1};
  std::vector<uint64_t> glibcs;  // the frames outside wait_here()
  int tid = 0;
  long got = 0;  // bytes
};

// Not within wait_here(): what stands in its frame is taken for return addresses there.
[[gnu::noinline]] void note_callers(const void* caller, Waiting& waiting) {
  void* addresses[wire::kMaxFrames];
  const int count = backtrace(addresses, wire::kMaxFrames);
  int first = 0;
  while (first < count && addresses[first] != caller) ++first;
  for (int i = first; i < count; ++i) {
    waiting.glibcs.push_back(reinterpret_cast<uint64_t>(addresses[i]));
  }
}

// A sanitizer's read() and frames are left by registers that nobody tells.
[[gnu::noinline, gnu::no_sanitize_address]] void wait_here(Waiting& waiting) {
#ifndef __has_feature
#define __has_feature(name) 0
#endif
  note_callers(__builtin_return_address(0), waiting);
  __atomic_store_n(&waiting.tid, static_cast<int>(syscall(SYS_gettid)), __ATOMIC_RELEASE);
  char byte;
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
  waiting.got = syscall(SYS_read, waiting.pipe[0], &byte, 1);
#else
  waiting.got = read(waiting.pipe[0], &byte, 1);
#endif
}

[[gnu::noinline, gnu::no_sanitize_address]] void wait_nested(int depth, Waiting& waiting) {
  if (depth == 0) return wait_here(waiting);
  volatile char* room = static_cast<char*>(alloca(static_cast<size_t>(depth) * 40));
  room[0] = 1;
  wait_nested(depth - 1, waiting);
  room[1] = 2;
}

// Parses the kernel's line for a blocked thread: stack pointer and address.
bool read_place(int tid, uint64_t& stack_pointer, uint64_t& pc) {
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/syscall");
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  if (words.size() < 3 || words[0] != std::to_string(SYS_read)) return false;
  stack_pointer = std::stoull(words[words.size() - 2], nullptr, 0);
  pc = std::stoull(words.back(), nullptr, 0);
  return true;
}

struct UnwindTest : ::testing::Test {
  UnwindTest() {
    EXPECT_TRUE(prepare_modules());
    g_taken = {};
    g_bounds = bounds_here();
  }
};

}  // namespace

TEST_F(UnwindTest, ThroughFramesOfAnySize) {
  for (const int depth : {0, 1, 5, 40}) {
    nested(depth, g_bounds);
    EXPECT_EQ(g_taken.ours, g_taken.glibcs) << depth;
    EXPECT_EQ(g_taken.flags, 0u);
    EXPECT_GT(g_taken.ours.size(), static_cast<size_t>(depth));
  }
}

TEST_F(UnwindTest, WithoutKnowingTheStack) {
  nested(20, {});
  EXPECT_EQ(g_taken.ours, g_taken.glibcs);
  EXPECT_EQ(g_taken.flags, 0u);
}

// As before glibc 2.35: the modules come from the kernel's list, with the same positions, names and
// tables.
TEST_F(UnwindTest, WithoutTheLoadersHelp) {
  const uint64_t places[] = {reinterpret_cast<uint64_t>(&compare_and_take),
                             reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "qsort")),
                             reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "__cxa_throw"))};
  std::vector<Module> told;
  for (const uint64_t place : places) told.push_back(module_at(module_of(place)));
  forget_remembered();
  ASSERT_TRUE(prepare_modules(false));
  nested(20, g_bounds);
  EXPECT_EQ(g_taken.ours, g_taken.glibcs);
  EXPECT_EQ(g_taken.flags, 0u);
  for (size_t i = 0; i < std::size(places); ++i) {
    const Module& found = module_at(module_of(places[i]));
    ASSERT_NE(found.number, 0u);
    EXPECT_EQ(found.bias, told[i].bias);
    EXPECT_EQ(found.section.header, told[i].section.header);
    EXPECT_EQ(found.section.start, told[i].section.start);
    const std::string path = *told[i].path != '\0' ? told[i].path : "/proc/self/exe";
    EXPECT_TRUE(std::filesystem::equivalent(found.path, path)) << found.path;
  }
  EXPECT_EQ(module_of(reinterpret_cast<uint64_t>(&places)), 0u);  // not in a file
  forget_remembered();
}

TEST_F(UnwindTest, FilesThatComeAndGoWithoutTheLoadersHelp) {
  ASSERT_TRUE(prepare_modules(false));
  for (int round = 0; round < 3; ++round) {
    void* library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
    if (library == nullptr) GTEST_SKIP() << dlerror();
    const link_map* map = nullptr;
    ASSERT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    const auto place = reinterpret_cast<uint64_t>(map->l_ld);
    forget_modules();
    const uint32_t number = module_of(place);
    ASSERT_NE(number, 0u);
    EXPECT_NE(std::string(module_at(number).path).find("libBrokenLocale"), std::string::npos);
    dlclose(library);
    forget_modules();
    EXPECT_EQ(module_of(place), 0u);
  }
}

TEST_F(UnwindTest, OfAThreadThatWaits) {
  for (const int depth : {0, 1, 12}) {
    Waiting waiting;
    ASSERT_EQ(pipe(waiting.pipe), 0);
    std::thread thread([&] { wait_nested(depth, waiting); });
    uint64_t stack_pointer = 0, pc = 0;
    bool is_there = false;
    for (int i = 0; i < 5000 && !is_there; ++i) {
      const int tid = __atomic_load_n(&waiting.tid, __ATOMIC_ACQUIRE);
      is_there = tid != 0 && read_place(tid, stack_pointer, pc);
      if (!is_there) usleep(1000);
    }
    static Stack stack;
    if (is_there) unwind_blocked(pc, stack_pointer, stack);
    EXPECT_EQ(write(waiting.pipe[1], "x", 1), 1);
    thread.join();
    EXPECT_EQ(waiting.got, 1);
    close(waiting.pipe[0]);
    close(waiting.pipe[1]);
    if (!is_there) GTEST_SKIP() << "this kernel does not tell where a blocked thread is";
    std::vector<uint64_t> ours;
    for (uint32_t i = 0; i < stack.count; ++i) ours.push_back(stack.frames[i].address + 1);
    const auto first = std::find(ours.begin(), ours.end(), waiting.glibcs.front());
    EXPECT_EQ(std::vector<uint64_t>(first, ours.end()), waiting.glibcs) << depth;
    EXPECT_EQ(stack.flags, 0u);
  }
}

TEST_F(UnwindTest, ThroughLibcAndInThreads) {
  std::thread([] {
    g_bounds = bounds_here();
    int numbers[] = {3, 1, 2};
    std::qsort(numbers, 3, sizeof numbers[0], compare_and_take);
  }).join();
  EXPECT_EQ(g_taken.ours, g_taken.glibcs);
  EXPECT_EQ(g_taken.flags, 0u);
  EXPECT_GT(g_taken.ours.size(), 8u);
}

TEST_F(UnwindTest, ThroughASignalsHandlerAlsoOnAStackOfItsOwn) {
  static char other[64 * 1024];
  const stack_t stack = {other, 0, sizeof other};
  ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
  for (const int flags : {0, SA_ONSTACK}) {
    struct sigaction action = {}, before = {};
    action.sa_handler = [](int) { nested(2, g_bounds); };
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, nullptr);
    // The interrupted instruction is reported as such, not as a return address.
    ASSERT_EQ(g_taken.ours.size(), g_taken.glibcs.size()) << flags;
    size_t different = 0;
    for (size_t i = 0; i < g_taken.ours.size(); ++i) {
      different += g_taken.ours[i] != g_taken.glibcs[i];
    }
    EXPECT_LE(different, 1u) << flags;
    EXPECT_EQ(g_taken.flags, 0u);
  }
  const stack_t none = {nullptr, SS_DISABLE, 0};
  sigaltstack(&none, nullptr);
}

TEST_F(UnwindTest, RememberedAndForgottenGiveTheSame) {
  nested(10, g_bounds);
  const auto first = g_taken.ours;
  nested(10, g_bounds);
  EXPECT_EQ(g_taken.glibcs, g_taken.ours);
  forget_remembered();
  nested(10, g_bounds);
  EXPECT_EQ(g_taken.glibcs, g_taken.ours);
  EXPECT_EQ(first.size(), g_taken.ours.size());
}

// Blocks of instructions are remembered as a whole, where one rule covers them.
TEST_F(UnwindTest, EachInstructionOfALargeFunctionHasItsRule) {
  static Stack stack;
  const auto begin = reinterpret_cast<uint64_t>(&sonde_test_large);
  const Section& section = module_at(module_of(begin)).section;
  uint64_t words[64] = {};
  ucontext_t context = {};
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uint64_t>(words));
  for (uint64_t step = 0; step < kLargeBytes; ++step) {
    const uint64_t pc = begin + step * 4099 % kLargeBytes;
    Rules rules;
    ASSERT_TRUE(find_rules(section, pc, nullptr, rules));
    ASSERT_TRUE(rules.from <= pc && pc < rules.to);
    context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
    unwind(context, {}, stack);
    ASSERT_EQ(stack.count, 1u);  // the return address is 0
    ASSERT_EQ(stack.frames[0].stack,
              reinterpret_cast<uint64_t>(words) + static_cast<uint64_t>(rules.cfa_offset))
        << pc - begin;
  }
}

// push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret: code without unwind information.
TEST_F(UnwindTest, CodeMadeAtRunTimeIsLeftByItsFramePointer) {
  static const unsigned char kCode[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(code, kCode, sizeof kCode);
  ASSERT_EQ(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
  reinterpret_cast<void (*)(void (*)())>(code)([] { nested(1, g_bounds); });
  EXPECT_EQ(g_taken.flags, 0u);
  // glibc stops at code without unwind information.
  const auto inside = reinterpret_cast<uint64_t>(code) + 6;
  EXPECT_EQ(std::count(g_taken.ours.begin(), g_taken.ours.end(), inside), 1);
  EXPECT_NE(g_taken.ours.back(), inside);
  munmap(code, 4096);
}

TEST_F(UnwindTest, AStackOfNonsenseEndsTheWalk) {
  static Stack stack;
  uint64_t words[64];
  for (uint64_t& word : words) word = 0xdeadbeefdeadbeef;
  ucontext_t context = {};
  getcontext(&context);
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uint64_t>(words));
  context.uc_mcontext.gregs[REG_RBP] = 0x1234567;
  unwind(context, g_bounds, stack);
  EXPECT_EQ(stack.flags, static_cast<uint32_t>(SONDE_STACK_TRUNCATED));
  EXPECT_LE(stack.count, 3u);
  context.uc_mcontext.gregs[REG_RIP] = 0;
  context.uc_mcontext.gregs[REG_RSP] = 8;
  unwind(context, g_bounds, stack);
  EXPECT_EQ(stack.flags, static_cast<uint32_t>(SONDE_STACK_TRUNCATED));
}

TEST(ExpressionTest, ThatOfEveryProcedureLinkageTable) {
  // breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
  const uint8_t code[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  uint64_t registers[kRegisters] = {};
  registers[kRsp] = 0x1000;
  ExpressionInput input;
  input.registers = registers;
  input.known = 1u << kRsp | 1u << kReturnAddress;
  uint64_t cfa = 0;
  registers[kReturnAddress] = 0x5006;
  ASSERT_TRUE(evaluate({code, code + sizeof code}, input, cfa));
  EXPECT_EQ(cfa, 0x1008u);
  registers[kReturnAddress] = 0x500b;
  ASSERT_TRUE(evaluate({code, code + sizeof code}, input, cfa));
  EXPECT_EQ(cfa, 0x1010u);
  input.known = 1u << kRsp;
  EXPECT_FALSE(evaluate({code, code + sizeof code}, input, cfa));
  const uint8_t empty[] = {0x22};
  EXPECT_FALSE(evaluate({empty, empty + 1}, input, cfa));
}

}  // namespace sonde::cpu
