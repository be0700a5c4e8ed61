#include "record/command.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/environment_merge.h"
#include "base/test_support.h"

namespace sonde::record {
namespace {

namespace fs = std::filesystem;

class Command : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("PATH");
    old_path_ = path != nullptr ? path : "";
    old_folder_ = fs::current_path();
  }
  void TearDown() override {
    fs::current_path(old_folder_);
    setenv("PATH", old_path_.c_str(), 1);
  }
  std::string make(const std::string& name, const std::string& content, mode_t mode = 0755) {
    std::string path = directory_ / name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
    ::chmod(path.c_str(), mode);
    return path;
  }
  const test::TemporaryDirectory directory_;
  const std::string folder_ = directory_.path();
  std::string old_path_;
  fs::path old_folder_;
};

TEST_F(Command, ThePathIsSearchedInItsOrder) {
  const std::string first = make("a/tool", "x", 0644);
  const std::string second = make("b/tool", "x");
  make("c/tool", "x");
  fs::create_directories(folder_ + "/d/tool");
  setenv("PATH", (folder_ + "/d:" + folder_ + "/a:" + folder_ + "/b:" + folder_ + "/c").c_str(), 1);
  const auto found = find_command("tool");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, second);
  EXPECT_EQ(*find_command(folder_ + "/c/tool"), folder_ + "/c/tool");
}

TEST_F(Command, AnEmptyPartOfThePathIsTheCurrentFolder) {
  make("tool", "x");
  fs::current_path(folder_);
  for (const char* path : {"", ":/nowhere", "/nowhere:", "/nowhere::/other"}) {
    setenv("PATH", path, 1);
    const auto found = find_command("tool");
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(*found, "./tool");
  }
  setenv("PATH", "/nowhere", 1);
  EXPECT_FALSE(find_command("tool"));
}

TEST_F(Command, ErrorsMeanWhatTheyMeanToAShell) {
  const std::string plain = make("a/plain", "x", 0644);
  setenv("PATH", (folder_ + "/a").c_str(), 1);
  const auto code = [](const std::string& name) { return find_command(name).error().code; };
  EXPECT_EQ(code("plain"), ErrorCode::kUnsupported);
  EXPECT_EQ(code(plain), ErrorCode::kUnsupported);
  EXPECT_EQ(code(folder_ + "/a"), ErrorCode::kUnsupported);  // a directory
  EXPECT_EQ(code("missing"), ErrorCode::kNotFound);
  EXPECT_EQ(code(folder_ + "/missing"), ErrorCode::kNotFound);
  EXPECT_EQ(code(""), ErrorCode::kNotFound);
  setenv("PATH", folder_.c_str(), 1);
  EXPECT_EQ(code("a"), ErrorCode::kNotFound);  // directories on PATH are not commands
}

// A 64-bit ELF file with segments of these types.
std::string elf(const std::vector<uint32_t>& types) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_type = ET_EXEC;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<uint16_t>(types.size());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  for (const uint32_t type : types) {
    Elf64_Phdr segment{};
    segment.p_type = type;
    bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  }
  return bytes;
}

TEST_F(Command, StaticProgramsCannotBeTraced) {
  const auto traceable = [&](const std::string& name, const std::string& bytes) {
    return untraceable_reason(make(name, bytes)).empty();
  };
  EXPECT_TRUE(traceable("dynamic", elf({PT_PHDR, PT_INTERP, PT_LOAD})));
  EXPECT_FALSE(traceable("static", elf({PT_LOAD, PT_LOAD, PT_NOTE})));
  EXPECT_TRUE(untraceable_reason("/proc/self/exe").empty());
  // A truncated file is not judged: running it will give the error.
  const std::string whole = elf({PT_LOAD, PT_LOAD});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(traceable("cut", whole.substr(0, size))) << size;
  }
  std::string narrow = whole;
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_NE(untraceable_reason(make("narrow", narrow)).find("32-bit"), std::string::npos);
  EXPECT_TRUE(untraceable_reason(folder_ + "/missing").empty());
}

TEST_F(Command, OfAScriptTheInterpreterIsJudged) {
  const std::string fixed = make("fixed", elf({PT_LOAD}));
  const std::string dynamic = make("dynamic", elf({PT_INTERP}));
  const auto reason = [&](const std::string& line) {
    return untraceable_reason(make("script", line));
  };
  EXPECT_EQ(reason("#!" + fixed + "\necho\n"), fixed + " is statically linked");
  EXPECT_EQ(reason("#! \t" + fixed + " -x\n"), fixed + " is statically linked");
  EXPECT_EQ(reason("#!" + fixed), fixed + " is statically linked");
  EXPECT_EQ(reason("#!" + fixed + "\r\n"), fixed + " is statically linked");
  EXPECT_EQ(reason("#!" + dynamic + "\n"), "");
  EXPECT_EQ(reason("#!\n"), "");
  EXPECT_EQ(reason("#!/no/such/interpreter\n"), "");
  EXPECT_EQ(reason("#!" + folder_ + "/script\n"), "");  // the script is its own interpreter
  const std::string outer = make("outer", "#!" + make("inner", "#!" + fixed + "\n") + "\n");
  EXPECT_EQ(untraceable_reason(outer), fixed + " is statically linked");
}

TEST_F(Command, ASetuidProgramOfAnotherUserCannotBeTraced) {
  const std::string path = make("suid", elf({PT_INTERP}));
  if (::geteuid() != 0 || ::chown(path.c_str(), 1, 1) != 0) GTEST_SKIP() << "needs root";
  ::chmod(path.c_str(), 04755);
  EXPECT_NE(untraceable_reason(path).find("setuid"), std::string::npos);
  ::chmod(path.c_str(), 02755);
  EXPECT_NE(untraceable_reason(path).find("setgid"), std::string::npos);
}

using Environment = std::vector<std::string>;

// As execve() takes it.
std::vector<char*> pointers_to(const Environment& environment) {
  std::vector<char*> entries;
  for (const auto& entry : environment) entries.push_back(const_cast<char*>(entry.c_str()));
  entries.push_back(nullptr);
  return entries;
}

Environment merged(const Environment& environment, const std::string& injections) {
  return merged_environment(pointers_to(environment).data(), injections);
}

TEST(InjectionList, HasTheSessionAndOnePreload) {
  std::vector<const Backend*> backends;
  for (const Backend& backend : all_backends()) backends.push_back(&backend);
  const auto list = injection_list(backends, "/tmp/s", "/opt/lib/sonde") + '\x1f';
  EXPECT_EQ(list.rfind("SONDE_SESSION=/tmp/s\x1f", 0), 0u);
  EXPECT_EQ(list.find("{lib}"), std::string::npos);
  const size_t preload = list.find("\x1fLD_PRELOAD+=/opt/lib/sonde/libsonde-agent.so");
  ASSERT_NE(preload, std::string::npos);
  EXPECT_EQ(list.find("LD_PRELOAD", preload + 5), std::string::npos);
}

TEST(MergedEnvironment, FollowsTheModeOfEachItem) {
  const std::string list = "A=1\x1fL+=x:y\x1fQ?=q";
  const std::string self = "SONDE_INJECT=" + list;
  EXPECT_EQ(merged({}, list), (Environment{"A=1", "L=x:y", "Q=q", self}));
  EXPECT_EQ(merged({"A=old", "L=z", "Q=mine", "LL=z"}, list),
            (Environment{"A=1", "L=x:y:z", "Q=mine", "LL=z", self}));
  EXPECT_EQ(merged({"A=1", "L=", "Q="}, list), (Environment{"A=1", "L=x:y", "Q=", self}));
  EXPECT_EQ(merged({"SONDE_INJECT=old", "A=1", "L=w:x:y:z", "Q"}, list),
            (Environment{self, "A=1", "L=w:x:y:z", "Q", "Q=q"}));
  EXPECT_EQ(merged({"L=x", "L=xx:y", "L=x:yy"}, "L+=x"),
            (Environment{"L=x", "L=x:xx:y", "L=x:yy", "SONDE_INJECT=L+=x"}));
}

TEST(MergedEnvironment, ListsMayBeSeparatedBySpaces) {
  EXPECT_EQ(merged({}, "T~=/x/a.so")[0], "T=/x/a.so");
  EXPECT_EQ(merged({"T=/y/b.so"}, "T~=/x/a.so")[0], "T=/x/a.so /y/b.so");
  EXPECT_EQ(merged({"T=/y/b.so /x/a.so"}, "T~=/x/a.so")[0], "T=/y/b.so /x/a.so");
  EXPECT_EQ(merged({"T=/x/a.so:/y"}, "T~=/x/a.so")[0], "T=/x/a.so /x/a.so:/y");
}

TEST(MergedEnvironment, ListsMayHaveEmptyParts) {
  // A leading colon is common: LD_LIBRARY_PATH=$UNSET:/opt/lib.
  EXPECT_EQ(merged({"L=:z"}, "L+=x")[0], "L=x::z");
  EXPECT_EQ(merged({"L=:x"}, "L+=x")[0], "L=:x");
  EXPECT_EQ(merged({"L=::"}, "L+=x")[0], "L=x:::");
  EXPECT_EQ(merged({"L=a::x:"}, "L+=x")[0], "L=a::x:");
  EXPECT_FALSE(list_contains("", "x", 1));
  EXPECT_FALSE(list_contains(":", "x", 1));
}

TEST(MergedEnvironment, MalformedItemsAreSkipped) {
  EXPECT_EQ(merged({},
                   "\x1f\x1fnothing\x1f=x\x1f"
                   "A=1\x1f")[0],
            "A=1");
  EXPECT_EQ(merged({}, "").size(), 1u);
}

// The same rules, implemented with strings and without regard for speed.
Environment model(Environment entries, const std::string& injections) {
  Environment items;
  for (size_t at = 0; at <= injections.size();) {
    const size_t end = std::min(injections.find('\x1f', at), injections.size());
    items.push_back(injections.substr(at, end - at));
    at = end + 1;
  }
  items.push_back("SONDE_INJECT=" + injections);
  for (const auto& item : items) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    std::string name = item.substr(0, equals);
    char mode = '=';
    if (name.back() == '+' || name.back() == '?') {
      mode = name.back();
      name.pop_back();
    }
    const std::string value = item.substr(equals + 1);
    bool found = false;
    for (auto& entry : entries) {
      if (entry.rfind(name + "=", 0) != 0) continue;
      found = true;
      const std::string old = entry.substr(name.size() + 1);
      const bool contained = (":" + old + ":").find(":" + value + ":") != std::string::npos;
      if (mode == '=') entry = name + "=" + value;
      if (mode == '+' && !contained) entry = name + "=" + value + (old.empty() ? "" : ":" + old);
    }
    if (!found) entries.push_back(name + "=" + value);
  }
  return entries;
}

TEST(MergedEnvironment, RandomOnesFollowTheRulesAndTheRoomIsEnough) {
  std::mt19937 random(1);
  const auto pick = [&](std::initializer_list<const char*> texts) {
    return std::string(*(texts.begin() + random() % texts.size()));
  };
  const auto name = [&] { return pick({"A", "AA", "B", "LD_PRELOAD", "SONDE_INJECT", "C"}); };
  const auto value = [&] { return pick({"", "x", "xx", "x:y", ":x", "y:x:", "::", "long/text"}); };
  for (int round = 0; round < 20000; ++round) {
    Environment environment;
    for (size_t n = random() % 6; n > 0; --n) {
      environment.push_back(name() + (random() % 9 == 0 ? "" : "=" + value()));
    }
    std::string list;
    for (size_t n = random() % 5; n > 0; --n) {
      list += (list.empty() ? "" : "\x1f") + name() + pick({"=", "+=", "?="}) +
              pick({"x", "y", "x:y", "longer/text"});
    }
    const auto result = merged(environment, list);
    ASSERT_EQ(result, model(environment, list)) << list;
    const std::vector<char*> entries = pointers_to(environment);
    // The size that the agent takes from the stack; AddressSanitizer detects an overrun.
    const MergeRoom room = merge_room(entries.data(), list.c_str());
    size_t bytes = 0;
    for (const auto& entry : result) bytes += entry.size() + 1;
    size_t kept = 0;
    for (const auto& entry : environment) {
      kept += std::count(result.begin(), result.end(), entry) != 0 ? entry.size() + 1 : 0;
    }
    ASSERT_LE(result.size() + 1, room.entries);
    ASSERT_LE(bytes, room.bytes + kept);
    ASSERT_EQ(merge_is_needed(entries.data(), list.c_str()), result != environment) << list;
  }
}

Environment stripped(const Environment& environment, const std::string& inject) {
  const std::vector<char*> pointers = pointers_to(environment);
  const MergeRoom room = merge_room(pointers.data(), inject.c_str());
  std::vector<char*> entries(room.entries);
  std::vector<char> text(room.bytes);
  strip_environment(pointers.data(), inject.c_str(), entries.data(), text.data());
  Environment rest;
  for (char** entry = entries.data(); *entry != nullptr; ++entry) rest.emplace_back(*entry);
  return rest;
}

TEST(StrippedEnvironment, IsWhatTheProgramsOwnWas) {
  const std::string inject =
      "SONDE_SESSION=/s\x1fLIST+=/ours/a:/ours/b\x1fTOOLS~=/ours/t\x1fONE?=/ours/o\x1fLIST+=/ours/c";
  const std::vector<Environment> cases = {
      {},
      {"A=1", "LIST=/mine", "TOOLS=mine other", "ONE=/mine"},
      {"LIST=:/mine::/mine:", "TOOLS=mine", "B="},
      {"LISTING=/ours/a", "SONDE_SESSIONS=/s"},
  };
  for (const auto& before : cases) EXPECT_EQ(stripped(merged(before, inject), inject), before);
  // Parts that the program has moved, or set itself, are told apart.
  EXPECT_EQ(stripped({"LIST=/mine:/ours/b:/ours/a2:/ours/a", "ONE=/ours/o", "SONDE_SESSION=/other"},
                     inject),
            (Environment{"LIST=/mine:/ours/a2", "SONDE_SESSION=/other"}));
}

}  // namespace
}  // namespace sonde::record
