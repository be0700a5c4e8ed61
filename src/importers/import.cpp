#include "importers/import.h"

#include <unistd.h>

#include <new>

#include "base/temporary_directory.h"

namespace sonde::importers {

namespace {

struct Input {
  std::string path;
  const Importer* importer = nullptr;
  int64_t shift_ns = 0;
};

Error unknown_kind(const std::string& path) {
  std::string names;
  for (const Importer* importer : all_importers()) names += " " + importer->name;
  return make_error(ErrorCode::kBadData, "no kind of trace that can be imported", path,
                    "--as says what it is, one of:" + names);
}

Result<std::vector<Input>> look_at(const std::vector<std::string>& paths, const std::string& as) {
  std::vector<Input> inputs;
  for (const std::string& path : paths) {
    SONDE_ASSIGN(const Importer* importer, find_importer(path, as));
    if (importer == nullptr) {
      SONDE_ASSIGN(const Source source, Source::open(path));  // the clearer error, if it is one
      if (source.head().empty()) {
        return make_error(ErrorCode::kBadData, "the file is empty", path, "there is nothing in it");
      }
      return unknown_kind(path);
    }
    inputs.push_back({path, importer, 0});
  }
  return inputs;
}

// All times count from the time 0 of the first file.
Status align(std::vector<Input>& inputs) {
  std::optional<int64_t> first;
  for (Input& input : inputs) {
    Clock clock;
    if (input.importer->clock != nullptr) {
      SONDE_ASSIGN(Source source, Source::open(input.path));
      SONDE_ASSIGN(clock, input.importer->clock(source));
    }
    if (!clock.realtime_ns) {
      return make_error(ErrorCode::kUnsupported,
                        "it does not say at what time of day it was recorded, so its times cannot "
                        "be related to those of the other files",
                        input.path, "import it alone, or take all times as they are: --no-align");
    }
    if (!first) first = clock.realtime_ns;
    if (__builtin_sub_overflow(*clock.realtime_ns, *first, &input.shift_ns)) {
      return make_error(ErrorCode::kBadData, "its time of day is out of range", input.path,
                        "import it alone");
    }
  }
  return ok_status();
}

// The libraries under the importers throw when memory runs out, and so do containers.
Status read_guarded(const Importer& importer, Source& source, Sink& sink, Tally& tally) {
  try {
    return importer.read(source, sink, tally);
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kIo, "out of memory", source.path(), "import it in parts");
  }
}

Status write_inputs(const std::vector<Input>& inputs, const ImportOptions& options, StoreSink& sink,
                    Imported& imported) {
  for (const Input& input : inputs) {
    ImportedFile file{input.path, input.importer->name, {}};
    sink.begin_file(input.path, input.shift_ns);
    SONDE_TRY(read_into(*input.importer, input.path, sink, file.tally, options.progress));
    SONDE_TRY(sink.status());
    sink.keep(file.tally);
    imported.files.push_back(std::move(file));
  }
  return sink.finish();
}

}  // namespace

Status read_into(const Importer& importer, const std::string& path, Sink& sink, Tally& tally,
                 const Source::Progress& progress) {
  SONDE_ASSIGN(Source source, Source::open(path));
  if (progress) source.on_progress(progress);
  SONDE_TRY(read_guarded(importer, source, sink, tally));
  if (!source.broken().empty()) {
    tally.repair("break in the file: what comes after it is missing", source.broken());
  }
  return ok_status();
}

Result<Imported> import_files(const std::vector<std::string>& paths, const std::string& output,
                              const ImportOptions& options) {
  SONDE_ASSIGN(auto inputs, look_at(paths, options.as));
  if (inputs.size() > 1 && options.align_clocks) SONDE_TRY(align(inputs));
  Imported imported;
  imported.path = output;
  const auto write = [&]() -> Status {
    SONDE_ASSIGN(StoreSink sink, StoreSink::create(output));
    const Status status = write_inputs(inputs, options, sink, imported);
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

Result<store::Reader> open_trace(const std::string& path, const std::string& as) {
  SONDE_ASSIGN(const Importer* importer, find_importer(path, as));
  if (importer == nullptr) return store::Reader::open(path);
  SONDE_ASSIGN(const TemporaryDirectory directory, TemporaryDirectory::create());
  const std::string imported = directory.path() + "/trace.rpd";
  ImportOptions options;
  options.as = importer->name;
  SONDE_TRY(import_files({path}, imported, options));
  // The open connection keeps the file after the directory is gone.
  auto reader = store::Reader::open(imported);
  if (reader) reader->database().set_path(path);
  return reader;
}

}  // namespace sonde::importers
