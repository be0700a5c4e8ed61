// sonde merge: the traces of several ranks or processes as one .rpd.
#include "cli/common.h"
#include "cli/import_files.h"

namespace sonde::cli {

namespace {

Result<int> run(const Arguments& arguments) {
  return import_files(arguments, arguments.value_or("output", "merged.rpd"));
}

constexpr const char* kText = R"(
merge - Merge the traces of several ranks or processes

Makes one .rpd of recordings (.rpd) and traces of other tools, in any mix. The processes and
GPUs of the second file are numbered from 10,000,000 and 1,000, those of the third from twice that,
and so on (as in RPD's views napi and nop); a file that was merged before takes as many of these
ranges as it has. Ranks, names, arguments, counters, losses and warnings are kept.

Recordings of one machine share its clock, so their times do not change. Others are put on one
timeline by the time of day, if every file says at what time of day it was recorded; this is as
accurate as the clocks of the machines. Otherwise the merge is refused, and --align start lets all
files begin together.

The parts of a rotated recording (sonde record --rotate) are joined into one trace, in which every
call has its operations, even if they are in another part.

An existing file is never overwritten: the next free name is taken.

Arguments:
FILE...  traces of any kind, also compressed with gzip

Options:
-o, --output FILE  the .rpd to write [merged.rpd]
--as --align

Examples:
sonde merge trace.rank*.rpd -o job.rpd  the recordings of all ranks of a job
sonde merge trace.000*.rpd -o trace.rpd  the parts of a recording that was rotated
sonde merge --align start before.json after.json  two runs, side by side
)";

}  // namespace

Command merge_command() { return make_command(kText, run); }

}  // namespace sonde::cli
