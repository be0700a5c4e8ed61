// Libraries that another thread closes while they are read.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/eh_frame.h"
#include "backends/cpu/modules.h"
#include "backends/cpu/unwind.h"
#include "base/test_support.h"

namespace sonde::cpu {

namespace {

constexpr char kFunction[] = "__ctype_get_mb_cur_max";

uint64_t function_of(void* library) {
  return reinterpret_cast<uint64_t>(dlsym(library, kFunction));
}

// Two files with the same contents, which the loader can put to the same place.
struct VanishingTest : ::testing::Test {
  VanishingTest() {
    EXPECT_TRUE(prepare_modules());
    void* library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const link_map* map = nullptr;
    EXPECT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    for (const char* file : {"/a.so", "/b.so"}) {
      std::filesystem::copy_file(map->l_name, folder.path() + file);
      paths.push_back(folder.path() + file);
    }
    close(library);
  }

  void SetUp() override {
    if (paths.empty()) GTEST_SKIP() << "no libBrokenLocale.so.1";
    if (!can_copy()) GTEST_SKIP() << "process_vm_readv is not permitted";
  }

  // As threads.cpp does for the program.
  static void close(void* library) {
    dlclose(library);
    forget_remembered();
    forget_modules();
  }

  test::TemporaryDirectory folder;
  std::vector<std::string> paths;
};

bool equal(const Rules& a, const Rules& b) {
  return a.cfa == b.cfa && a.cfa_register == b.cfa_register && a.cfa_offset == b.cfa_offset &&
         a.rbp == b.rbp && a.rbp_offset == b.rbp_offset && a.return_address == b.return_address &&
         a.return_offset == b.return_offset && a.signal_frame == b.signal_frame &&
         a.from == b.from && a.to == b.to &&
         a.cfa_expression.end - a.cfa_expression.begin ==
             b.cfa_expression.end - b.cfa_expression.begin;
}

struct Defined {
  std::string path;
  std::vector<uint8_t> build_id;
} g_defined;

uint32_t define(const struct sonde_module* module) {
  const auto* id = static_cast<const uint8_t*>(module->build_id);
  g_defined = {module->path, {id, id + module->build_id_bytes}};
  return 1;
}

}  // namespace

TEST_F(VanishingTest, TheRulesAreTheSameByCopiesAndInPlace) {
  const auto inside = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "qsort"));
  const Section& section = module_at(module_of(inside)).section;
  size_t found = 0;
  Copies copies;
  for (uint64_t pc = section.start; pc < section.end; pc += 97) {
    Rules in_place, copied;
    const bool is_there = find_rules(section, pc, nullptr, in_place);
    ASSERT_EQ(find_rules(section, pc, &copies, copied), is_there) << pc - section.start;
    ASSERT_TRUE(!is_there || equal(in_place, copied)) << pc - section.start;
    found += is_there ? 1 : 0;
  }
  EXPECT_GT(found, 5000u);
}

TEST_F(VanishingTest, ThereAreNoRulesOfALibraryThatIsGone) {
  void* library = dlopen(paths[0].c_str(), RTLD_NOW);
  const uint64_t pc = function_of(library);
  const Section section = module_at(module_of(pc)).section;
  Copies copies;
  Rules rules;
  EXPECT_TRUE(find_rules(section, pc, &copies, rules));
  close(library);
  EXPECT_FALSE(find_rules(section, pc, &copies, rules));
}

TEST_F(VanishingTest, AModuleThatIsGoneIsDefinedAsItWas) {
  struct sonde_agent agent = {};
  agent.define_module = define;
  std::vector<uint8_t> build_ids[2];
  for (const bool gone : {false, true}) {
    const std::string& path = paths[gone ? 1 : 0];
    void* library = dlopen(path.c_str(), RTLD_NOW);
    const uint32_t number = module_of(function_of(library));
    if (gone) close(library);
    EXPECT_EQ(module_definition(number, &agent), 1u);
    EXPECT_EQ(g_defined.path, path);
    build_ids[gone ? 1 : 0] = g_defined.build_id;
    if (!gone) close(library);
  }
  EXPECT_EQ(build_ids[0].size(), 20u);
  EXPECT_EQ(build_ids[0], build_ids[1]);
}

TEST_F(VanishingTest, AnotherFileAtTheSamePlaceIsAnotherModule) {
  uint64_t places[2] = {};
  size_t same = 0;
  for (int round = 0; round < 20; ++round) {
    const size_t which = static_cast<size_t>(round) % 2;
    void* library = dlopen(paths[which].c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    places[which] = function_of(library);
    same += places[0] == places[1] ? 1 : 0;
    EXPECT_EQ(module_at(module_of(places[which])).path, paths[which]);
    close(library);
  }
  EXPECT_GT(same, 0u);
}

// The stacks consist of addresses of a library that comes and goes all the time.
TEST_F(VanishingTest, StacksAreTakenWhileALibraryComesAndGoes) {
  std::atomic<uint64_t> place = 0;
  std::atomic<bool> done = false;
  std::thread thread([&] {
    for (size_t i = 0; !done; ++i) {
      void* library = dlopen(paths[i % 2].c_str(), RTLD_NOW);
      place = function_of(library);
      close(library);
    }
  });
  static Stack stack;
  static uint64_t words[64];
  ucontext_t context = {};
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(reinterpret_cast<uint64_t>(words));
  size_t in_the_library = 0;
  // On a busy machine the thread may not run for a while.
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto goes_on = [&](int turns) {
    return turns < 20000 || (in_the_library == 0 && std::chrono::steady_clock::now() < latest);
  };
  for (int i = 0; goes_on(i); ++i) {
    const uint64_t pc = place;
    for (uint64_t& word : words) word = pc + 1;
    unwind_blocked(pc, reinterpret_cast<uint64_t>(words), stack);
    in_the_library += stack.count != 0 && stack.frames[0].module != 0 ? 1 : 0;
    context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
    unwind_stopped(context, stack);
  }
  done = true;
  thread.join();
  EXPECT_GT(in_the_library, 0u);
}

}  // namespace sonde::cpu
