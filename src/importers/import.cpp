#include "importers/import.h"

#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/temporary_directory.h"
#include "importers/rpd/input.h"
#include "importers/sink/checked_sink.h"
#include "importers/sink/first_time.h"
#include "store/input_file.h"

namespace sonde::importers {

namespace {

struct Input {
  std::string path;
  Found found;
  int64_t shift_ns = 0;
};

bool is_rpd(const std::string& path) {
  const auto source = Source::open(path);
  return source.ok() && store::is_sqlite(source->head());
}

Result<std::vector<Input>> look_at(const std::vector<std::string>& paths, const std::string& as) {
  std::vector<Input> inputs;
  for (const std::string& path : paths) {
    SONDE_ASSIGN(Found found, find_importer(path, as));
    if (found.importer == nullptr && (as == "rpd" || is_rpd(path))) found.importer = &rpd_input();
    if (found.importer == nullptr) {
      SONDE_ASSIGN(const Source source, Source::open(path));  // the clearer error, if it is one
      return unknown_kind(source);
    }
    inputs.push_back({path, std::move(found), 0});
  }
  return inputs;
}

// The libraries under the importers throw when memory runs out, and so do containers.
Status read_guarded(const Importer& importer, Source& source, Sink& sink, Tally& tally) {
  try {
    CheckedSink checked(sink, tally, source.path());
    return importer.read(source, checked, tally);
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kIo, "out of memory", source.path(), "import it in parts");
  }
}

Error only_once(const std::string& path) {
  return make_error(
      ErrorCode::kUnsupported,
      "a pipe can be read once, and several files are looked at for their times first", path,
      "save it as a file, or take all times as they are (--align none)");
}

// Recordings of one machine since it was started share their clock, which is more exact than the
// time of day. The readings of both differ by how far the time of day was set meanwhile.
bool is_same_clock(const Clock& a, const Clock& b) {
  constexpr int64_t kOneBootNs = 1'000'000'000;
  int64_t apart_ns = 0;
  return !a.host.empty() && a.host == b.host && a.name == "monotonic" && b.name == "monotonic" &&
         !__builtin_sub_overflow(*a.realtime_ns, *b.realtime_ns, &apart_ns) &&
         apart_ns > -kOneBootNs && apart_ns < kOneBootNs;
}

// All times count from the earliest time 0, so that none of them is before it.
Status align_clocks(std::vector<Input>& inputs) {
  std::vector<Clock> clocks;
  for (const Input& input : inputs) {
    if (input.found.source) return only_once(input.path);
    SONDE_ASSIGN(Clock clock, clock_of(input.found, input.path));
    if (!clock.realtime_ns) {
      return make_error(ErrorCode::kUnsupported,
                        "it does not say at what time of day it was recorded, so its times cannot "
                        "be related to those of the other files",
                        input.path,
                        "import it alone, let all files begin together (--align start), or take "
                        "all times as they are (--align none)");
    }
    clocks.push_back(std::move(clock));
  }
  const auto shifts = shifts_to_one_clock(std::move(clocks));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!shifts[i]) {
      return make_error(ErrorCode::kBadData, "its time of day is out of range", inputs[i].path,
                        "import it alone");
    }
    inputs[i].shift_ns = *shifts[i];
  }
  return ok_status();
}

// Reads every file once more, for its first event.
Status align_starts(std::vector<Input>& inputs) {
  std::optional<int64_t> first;
  for (Input& input : inputs) {
    FirstTime sink;
    Tally ignored;
    if (input.found.source) return only_once(input.path);
    SONDE_ASSIGN(Source source, Source::open(input.path));
    SONDE_TRY(read_guarded(*input.found.importer, source, sink, ignored));
    if (!sink.first_ns()) continue;  // there is nothing in it
    if (!first) first = sink.first_ns();
    if (__builtin_sub_overflow(*first, *sink.first_ns(), &input.shift_ns)) input.shift_ns = 0;
  }
  return ok_status();
}

Status align(std::vector<Input>& inputs, Align how) {
  if (inputs.size() < 2 || how == Align::kNone) return ok_status();
  return how == Align::kStarts ? align_starts(inputs) : align_clocks(inputs);
}

Status write_inputs(std::vector<Input>& inputs, const ImportOptions& options, StoreSink& sink,
                    Imported& imported) {
  for (Input& input : inputs) {
    ImportedFile file{input.path, input.found.importer->name, {}};
    sink.begin_file(input.path, input.found.importer->name, input.shift_ns);
    SONDE_TRY(read_into(input.found, input.path, sink, file.tally, options.progress));
    SONDE_TRY(sink.status());
    sink.keep(file.tally);
    imported.files.push_back(std::move(file));
  }
  return sink.finish();
}

Result<Imported> import_inputs(std::vector<Input>& inputs, const std::string& output,
                               const ImportOptions& options) {
  SONDE_TRY(align(inputs, options.align));
  Imported imported;
  imported.path = output;
  const auto write = [&]() -> Status {
    SONDE_ASSIGN(StoreSink sink, StoreSink::create(output));
    Status status = write_inputs(inputs, options, sink, imported);
    imported.counts = sink.counts();
    return status;
  };
  const bool existed = ::access(output.c_str(), F_OK) == 0;
  if (Status status = write(); !status) {
    if (!existed) {
      ::unlink(output.c_str());
      ::unlink((output + "-journal").c_str());
    }
    return std::move(status).error();
  }
  return imported;
}

}  // namespace

Result<Clock> clock_of(const Found& found, const std::string& path) {
  const Importer& importer = found.importer == nullptr ? rpd_input() : *found.importer;
  if (importer.clock == nullptr || found.source) return Clock{};
  SONDE_ASSIGN(Source source, Source::open(path));
  return importer.clock(source);
}

std::vector<std::optional<int64_t>> shifts_to_one_clock(std::vector<Clock> clocks) {
  std::optional<int64_t> first_ns;
  for (size_t i = 0; i < clocks.size(); ++i) {
    if (!clocks[i].realtime_ns) continue;
    for (size_t other = 0; other < i; ++other) {
      if (!clocks[other].realtime_ns || !is_same_clock(clocks[i], clocks[other])) continue;
      clocks[i].realtime_ns = clocks[other].realtime_ns;
      break;
    }
    first_ns = std::min(first_ns.value_or(*clocks[i].realtime_ns), *clocks[i].realtime_ns);
  }
  std::vector<std::optional<int64_t>> shifts(clocks.size());
  for (size_t i = 0; i < clocks.size(); ++i) {
    int64_t shift_ns = 0;
    if (!clocks[i].realtime_ns) continue;
    if (__builtin_sub_overflow(*clocks[i].realtime_ns, *first_ns, &shift_ns)) continue;
    shifts[i] = shift_ns;
  }
  return shifts;
}

Status read_into(Found& found, const std::string& path, Sink& sink, Tally& tally,
                 const Source::Progress& progress) {
  if (!found.source) {
    SONDE_ASSIGN(found.source, Source::open(path));
  }
  Source source = std::move(*found.source);
  found.source.reset();
  if (progress) source.on_progress(progress);
  SONDE_TRY(read_guarded(*found.importer, source, sink, tally));
  if (!source.broken().empty()) {
    tally.repair("break in the file: what comes after it is missing", source.broken());
  }
  return ok_status();
}

Result<Imported> import_files(const std::vector<std::string>& paths, const std::string& output,
                              const ImportOptions& options) {
  SONDE_ASSIGN(auto inputs, look_at(paths, options.as));
  return import_inputs(inputs, output, options);
}

Result<store::Reader> open_trace(const std::string& path, const std::string& as) {
  SONDE_ASSIGN(Found found, find_importer(path, as));
  if (found.importer == nullptr) return store::Reader::open(path);
  SONDE_ASSIGN(const TemporaryDirectory directory, TemporaryDirectory::create());
  const std::string imported = directory.path() + "/trace.rpd";
  std::vector<Input> inputs;
  inputs.push_back({path, std::move(found), 0});
  SONDE_TRY(import_inputs(inputs, imported, {}));
  // The open connection keeps the file after the directory is gone.
  auto reader = store::Reader::open(imported);
  if (reader) reader->database().set_path(path);
  return reader;
}

}  // namespace sonde::importers
