// link: simdjson
// What ./dev bench measures the JSON importer with:
//   kineto_json generate EVENTS FILE   a PyTorch trace as AMD writes them, about 300 bytes an event
//   kineto_json mixed EVENTS FILE      likewise, on three streams, with what analyses look for as
//   well:
//                                      copies, collectives, syncs, steps, memory in use
//   kineto_json walk FILE              the bare walk: simdjson over every field and argument
// walk reads the file into memory first and prints the time of parsing alone, and of both.
#include <simdjson.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

namespace od = simdjson::ondemand;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

const char* const kKernels[] = {
    "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT32x64x128_MI16x16x1_SN_LDSB1_AFC1_AFEM1_GSU4",
    "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>)",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>",
    "attn_fwd"};
const char* const kOps[] = {"aten::linear", "aten::addmm", "aten::layer_norm", "aten::gelu"};

// What the device did in a round, as a trace writes it.
struct Work {
  const char *category, *call, *name, *arguments;
};
Work work_of(unsigned long round, bool mixed) {
  if (mixed && round % 10 == 4) {
    return {"gpu_memcpy", "hipMemcpyAsync", "Memcpy HtoD (Pinned -> Device)",
            ",\n        \"bytes\": 1048576"};
  }
  if (mixed && round % 25 == 7) {
    return {"kernel", "hipExtLaunchKernel", "ncclDevKernel_Generic(ncclDevComm*, unsigned long)",
            ",\n        \"Collective name\": \"allreduce\", \"In msg nelems\": 6637568, "
            "\"Out msg nelems\": 6637568, \"Group size\": 2, \"dtype\": \"Float\", "
            "\"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1]\""};
  }
  return {"kernel", "hipExtModuleLaunchKernel", kKernels[round % 4],
          ",\n        \"kind\": \"Dispatch Kernel\",\n        \"grid\": [152, 1, 1],\n"
          "        \"block\": [256, 1, 1]"};
}

// The round's last event: an irrelevant call, or what a real trace has now and then.
template <typename Complete>
void write_last(std::FILE* out, unsigned long round, double ts, bool mixed, Complete complete) {
  if (mixed && round % 100 == 0) {
    char name[40];
    std::snprintf(name, sizeof name, "ProfilerStep#%lu", round / 100);
    complete("user_annotation", name, ts, 2149.0);
    std::fputs("\n      }\n    }", out);
  } else if (mixed && round % 5 == 1) {
    std::fprintf(out,
                 ",\n    {\n      \"ph\": \"i\",\n      \"cat\": \"cpu_instant_event\",\n"
                 "      \"s\": \"t\",\n      \"name\": \"[memory]\",\n      \"pid\": 6240,\n"
                 "      \"tid\": 6240,\n      \"ts\": %.3f,\n      \"args\": {\n"
                 "        \"Total Reserved\": 2533359616, \"Total Allocated\": %lu, "
                 "\"Bytes\": %d, \"Device Id\": 2, \"Device Type\": 1, \"Addr\": %lu\n"
                 "      }\n    }",
                 ts + 2.5, 1104280064 + round % 10 / 5 * 4096, round % 10 == 1 ? 4096 : -4096,
                 140255988547584 + round / 10 * 4096);
  } else {
    const bool sync = mixed && round % 20 == 19;
    complete("cuda_runtime", sync ? "hipDeviceSynchronize" : "hipGetDevice", ts + 9,
             sync ? 8.0 : 0.5);
    std::fprintf(out, ",\n        \"cid\": 12,\n        \"correlation\": %lu\n      }\n    }",
                 round + 900000800);
  }
}

// Each round is one launch with what stands around it in a real trace: 10 events.
void write_round(std::FILE* out, unsigned long round, bool mixed) {
  const double ts = 2204338329867.78 + static_cast<double>(round) * 21.5;
  const unsigned long id = round + 800;
  const Work work = work_of(round, mixed);
  const auto complete = [&](const char* category, const char* name, double at, double dur) {
    std::fprintf(out,
                 ",\n    {\n      \"ph\": \"X\",\n      \"cat\": \"%s\",\n      \"name\": \"%s\",\n"
                 "      \"pid\": 6240,\n      \"tid\": 6240,\n      \"ts\": %.3f,\n"
                 "      \"dur\": %.3f,\n      \"args\": {\n        \"External id\": %lu",
                 category, name, at, dur, id);
  };
  for (int depth = 0; depth < 3; ++depth) {
    complete("python_function", "torch/nn/modules/module.py(1773): _wrapped_call_impl",
             ts + depth * 0.1, 20.0 - depth);
    std::fprintf(out,
                 ",\n        \"Python id\": %lu,\n        \"Python parent id\": %lu,\n"
                 "        \"Ev Idx\": %lu\n      }\n    }",
                 3 * round + static_cast<unsigned long>(depth), 3 * round, id);
  }
  for (int depth = 0; depth < 2; ++depth) {
    complete("cpu_op", kOps[(round + static_cast<unsigned long>(depth)) % 4], ts + 1 + depth, 12.0);
    std::fprintf(
        out,
        ",\n        \"Record function id\": 0,\n        \"Concrete Inputs\": [\"\", \"\", \"\"],\n"
        "        \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"\"],\n"
        "        \"Input Dims\": [[1, 512, 2048], [2048, 512], []],\n"
        "        \"Ev Idx\": %lu\n      }\n    }",
        id);
  }
  complete("cuda_runtime", work.call, ts + 3, 4.25);
  std::fprintf(
      out,
      ",\n        \"cid\": 103,\n        \"correlation\": %lu,\n        \"kernel\": \"%s\",\n"
      "        \"block\": [256, 1, 1],\n        \"grid\": [38912, 1, 1],\n"
      "        \"shared memory\": 0\n      }\n    }",
      id, work.name);
  for (const char phase : {'s', 'f'}) {
    std::fprintf(out,
                 ",\n    {\n      \"ph\": \"%c\",\n      \"id\": %lu,\n      \"pid\": 6240,\n"
                 "      \"tid\": 6240,\n      \"ts\": %.3f,\n      \"cat\": \"ac2g\",\n"
                 "      \"name\": \"ac2g\"\n    }",
                 phase, id, ts + 3);
  }
  complete(work.category, work.name, ts + 8, 6.125 + static_cast<double>(round % 64) / 10);
  std::fprintf(out,
               ",\n        \"device\": 2,\n        \"stream\": %lu,\n"
               "        \"correlation\": %lu%s\n      }\n    }",
               mixed ? round % 3 : 0, id, work.arguments);
  write_last(out, round, ts, mixed, complete);
}

int generate(unsigned long events, const char* path, bool mixed) {
  std::FILE* out = std::fopen(path, "wb");
  if (out == nullptr) return 1;
  std::fputs(
      "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"AMD "
      "Instinct MI300X\", \"totalGlobalMem\": 206141652992, \"numSms\": 304}],\n"
      "  \"roctracer_version\": 4.1,\n  \"traceEvents\": [\n    {\"ph\": \"M\", \"name\": "
      "\"process_name\", \"pid\": 6240, \"tid\": 0, \"ts\": 1, \"args\": {\"name\": "
      "\"python3\"}}",
      out);
  for (unsigned long round = 0; round * 10 < events; ++round) write_round(out, round, mixed);
  std::fputs("\n  ],\n  \"baseTimeNanoseconds\": 1751410836000000000\n}\n", out);
  return std::fclose(out) == 0 ? 0 : 1;
}

// Touches every key and every value, and keeps nothing.
size_t walk_value(od::value value) {
  size_t seen = 1;
  switch (value.type()) {
    case od::json_type::object:
      for (auto field : value.get_object()) seen += walk_value(field.value());
      break;
    case od::json_type::array:
      for (auto element : value.get_array()) seen += walk_value(element.value());
      break;
    case od::json_type::string:
      seen += std::string_view(value.get_string()).size() > 0;
      break;
    default:
      seen += value.raw_json_token().size() > 0;
  }
  return seen;
}

int walk(const char* path) {
  const auto begin = std::chrono::steady_clock::now();
  const simdjson::padded_string text = simdjson::padded_string::load(path);
  const auto loaded = std::chrono::steady_clock::now();
  const std::clock_t cpu_loaded = std::clock();
  od::parser parser;
  od::document document = parser.iterate(text);
  size_t events = 0;
  size_t seen = 0;
  for (auto event : document["traceEvents"].get_array()) {
    ++events;
    seen += walk_value(event.value());
  }
  std::printf(
      "{\"parse_s\": %.6f, \"parse_cpu_s\": %.6f, \"all_s\": %.6f, \"bytes\": %zu, \"events\": %zu, \"seen\": %zu}\n",
      seconds_since(loaded), static_cast<double>(std::clock() - cpu_loaded) / CLOCKS_PER_SEC,
      seconds_since(begin), text.size(), events, seen);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool mixed = argc == 4 && std::strcmp(argv[1], "mixed") == 0;
  if (mixed || (argc == 4 && std::strcmp(argv[1], "generate") == 0)) {
    return generate(std::strtoul(argv[2], nullptr, 10), argv[3], mixed);
  }
  if (argc == 3 && std::strcmp(argv[1], "walk") == 0) return walk(argv[2]);
  std::fprintf(stderr, "usage: kineto_json generate|mixed EVENTS FILE | walk FILE\n");
  return 2;
}
