#include "trace/frames.h"

namespace sonde::trace {
namespace {

// How paths of Python's own library begin when the folder in front of them is cut off.
constexpr std::string_view kLibrary[] = {"abc.py",       "argparse.py",
                                         "ast.py",       "asyncio/",
                                         "bdb.py",       "cProfile.py",
                                         "codecs.py",    "collections/",
                                         "concurrent/",  "contextlib.py",
                                         "copy.py",      "copyreg.py",
                                         "ctypes/",      "dataclasses.py",
                                         "dis.py",       "enum.py",
                                         "functools.py", "glob.py",
                                         "heapq.py",     "importlib/",
                                         "inspect.py",   "json/",
                                         "linecache.py", "locale.py",
                                         "logging/",     "multiprocessing/",
                                         "numbers.py",   "opcode.py",
                                         "os.py",        "pathlib.py",
                                         "pickle.py",    "posixpath.py",
                                         "queue.py",     "random.py",
                                         "re.py",        "re/",
                                         "runpy.py",     "selectors.py",
                                         "signal.py",    "sitecustomize.py",
                                         "socket.py",    "sre_compile.py",
                                         "sre_parse.py", "statistics.py",
                                         "string.py",    "subprocess.py",
                                         "tempfile.py",  "textwrap.py",
                                         "threading.py", "time.py",
                                         "tokenize.py",  "traceback.py",
                                         "types.py",     "typing.py",
                                         "unittest/",    "urllib/",
                                         "uuid.py",      "warnings.py",
                                         "weakref.py",   "zipfile.py"};
constexpr std::string_view kPackages[] = {"torch/",
                                          "torch_",
                                          "torchvision/",
                                          "numpy/",
                                          "triton/",
                                          "apex/",
                                          "jax/",
                                          "jaxlib/",
                                          "flax/",
                                          "tensorflow/",
                                          "keras/",
                                          "einops/",
                                          "deepspeed/",
                                          "accelerate/",
                                          "flash_attn/",
                                          "xformers/",
                                          "transformer_engine/",
                                          "transformers/",
                                          "nn.Module: ",
                                          "<"};

bool begins_a_path_part(std::string_view frame, std::string_view word) {
  if (frame.substr(0, word.size()) == word) return true;
  if (word.size() < 2 || word.back() != '/') return false;
  return frame.find("/" + std::string(word)) != frame.npos;
}

}  // namespace

bool is_user_frame(std::string_view frame) {
  for (const std::string_view folder :
       {"site-packages/", "dist-packages/", "/lib/python3", "/lib/sonde/"}) {
    if (frame.find(folder) != frame.npos) return false;
  }
  for (const std::string_view word : kPackages) {
    if (begins_a_path_part(frame, word)) return false;
  }
  for (const std::string_view word : kLibrary) {
    if (frame.substr(0, word.size()) == word) return false;
  }
  return frame.find(".py(") != frame.npos || frame.find(".py:") != frame.npos;
}

Result<UserFrames> UserFrames::create(const Trace& trace, const std::string& pattern) {
  NameFilter filter;
  if (!pattern.empty()) {
    SONDE_ASSIGN(filter, NameFilter::compile(pattern, "--user"));
  }
  UserFrames frames(trace, std::move(filter));
  frames.known_.assign(trace.names.size(), -1);
  return frames;
}

bool UserFrames::contains(size_t api) const {
  if (!is_python(*trace_, api)) return false;
  const NameId name = trace_->apis.label[api];
  signed char& known = known_[name];
  if (known < 0) {
    const std::string& text = trace_->names[name];
    known = (filter_.wants_all() ? is_user_frame(text) : filter_.wants(text)) ? 1 : 0;
  }
  return known == 1;
}

}  // namespace sonde::trace
