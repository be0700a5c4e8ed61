// An importer reads the trace of another tool and passes what is in it to a Sink. It is a value: a
// name, a look at the beginning of a file, and the function that reads one. A new importer is a
// file in importers/ that defines `Importer NAME_importer()`; the build finds it (README.md).
//
// An importer keeps to three rules: what the format does not say stays unset, rows that cannot be
// used are counted in the Tally and reading goes on, and times are integer nanoseconds.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "importers/input/source.h"
#include "importers/sink/sink.h"
#include "importers/sink/tally.h"

namespace sonde::importers {

// What sniffing sees of a file.
struct Head {
  std::string_view path;
  std::string_view bytes;  // the first Source::kHeadBytes at most, unpacked
  bool has(std::string_view word) const { return bytes.find(word) != bytes.npos; }
};

// How sure an importer is that a file is its own. The surest one gets it.
enum class Sure { kNo, kPossible, kLikely, kCertain };

// What the times of a file count from.
struct Clock {
  std::string name;                      // "realtime", "monotonic" ...; "" = not known
  std::optional<int64_t> realtime_ns{};  // the time of day (ns since 1970) at the file's time 0
  std::string host{};                    // the machine whose clock it is; "" = not known
};

struct Importer {
  std::string name;     // "kineto": value of --as
  std::string summary;  // one line for --help
  Sure (*sniff)(const Head& head);
  // Fails only if nothing can be read at all; a file that breaks off is what came before.
  Status (*read)(Source& source, Sink& sink, Tally& tally);
  // The clock of the file, from a source of its own; nullptr where the format does not say. It is
  // asked when several files are to become one.
  Result<Clock> (*clock)(Source& source) = nullptr;
};

// Generated from the files of importers/.
std::span<const Importer> all_importers();

struct Found {
  // nullptr means that it is an .rpd, or nothing that any importer knows; the Reader says which.
  const Importer* importer = nullptr;
  // The source, if it is not a regular file and can be read only once; the bytes that were sniffed
  // are still to be read.
  std::optional<Source> source{};
};
// The importer for a file or pipe ("-" is the standard input). `as` is a name, or "" to sniff.
// Fails for a pipe that holds nothing any importer knows.
Result<Found> find_importer(const std::string& path, const std::string& as);

// The error for a file that no importer takes.
Error unknown_kind(const Source& source);

}  // namespace sonde::importers
