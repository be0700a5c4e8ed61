// import_files: several files of other tools as one .rpd; open_trace: one file of any kind as an
// .rpd to ask. Used by the commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "importers/importer.h"
#include "importers/sink/store_sink.h"
#include "store/reader.h"

namespace sonde::importers {

// How the times of several files become those of one.
enum class Align {
  kClocks,  // by the clocks; fails if a file does not relate its own to the time of day
  kStarts,  // every file's first event is at the same time
  kNone     // they are taken as they are
};

struct ImportOptions {
  std::string as;  // name of an importer; "" = look at each file
  Align align = Align::kClocks;
  Source::Progress progress;  // of the file that is being read
};

struct ImportedFile {
  std::string path, importer;
  Tally tally;
};

struct Imported {
  std::string path;
  StoreSink::Counts counts;
  std::vector<ImportedFile> files;
};

// Writes `output`, which must not exist. Nothing is left of it on failure.
Result<Imported> import_files(const std::vector<std::string>& paths, const std::string& output,
                              const ImportOptions& options);

// Opens any trace for SQL: an .rpd as it is, everything else by way of a temporary .rpd. The name
// that the reader shows is the one the user gave.
Result<store::Reader> open_trace(const std::string& path, const std::string& as);

// The clock of a file that has not been read. That of a pipe, which can be read only once, is not
// known.
Result<Clock> clock_of(const Found& found, const std::string& path);
// What is to be added to the times of each file so that all are on one clock, that of the file
// whose time 0 is the earliest; nullopt for one that cannot be related to the others.
std::vector<std::optional<int64_t>> shifts_to_one_clock(std::vector<Clock> clocks);

// Reads one file into any sink, and counts as skipped what a broken file does not have.
Status read_into(Found& found, const std::string& path, Sink& sink, Tally& tally,
                 const Source::Progress& progress = {});

}  // namespace sonde::importers
