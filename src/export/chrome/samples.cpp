#include "export/chrome/samples.h"

#include <string>

#include "export/output/json_text.h"

namespace sonde::exporting {

namespace {

constexpr uint32_t kNone = IdIndex::kNone;

void member(Sink& sink, std::string_view key, int64_t value) {
  sink.append(key);
  append_integer(sink, value);
}

void write_frames(Sink& sink, const CallSamples& samples) {
  std::string scratch;
  sink.append(",\"stackFrames\":{");
  for (size_t i = 0; i < samples.stacks.size(); ++i) {
    const SampleStack& stack = samples.stacks[i];
    const SampleFrame& frame = samples.frames[stack.frame];
    member(sink, i == 0 ? "\n\"" : ",\n\"", static_cast<int64_t>(i) + 1);
    sink.append("\":{\"name\":");
    append_json_string(sink, frame.text, scratch);
    sink.append(",\"category\":");
    append_json_string(sink,
                       frame.is_python         ? "python"
                       : frame.module == kNone ? "native"
                                               : samples.modules[frame.module].path,
                       scratch);
    if (!frame.file.empty()) {
      sink.append(",\"file\":");
      append_json_string(sink, frame.file, scratch);
    }
    if (frame.line > 0) member(sink, ",\"line\":", frame.line);
    if (stack.parent != kNone) {
      member(sink, ",\"parent\":\"", int64_t{stack.parent} + 1);
      sink.append("\"");
    }
    sink.append("}");
  }
  sink.append("}");
}

}  // namespace

void write_chrome_samples(Sink& sink, const CallSamples& samples, int64_t origin_ns,
                          ViewerNumbers& numbers) {
  if (samples.samples.empty()) return;
  write_frames(sink, samples);
  sink.append(",\"samples\":[");
  bool first = true;
  for (const CallSample& sample : samples.samples) {
    member(sink, first ? "\n{\"pid\":" : ",\n{\"pid\":", numbers.pid(sample.pid));
    first = false;
    member(sink, ",\"tid\":", numbers.tid(sample.pid, sample.tid));
    sink.append(",\"ts\":");
    append_thousandths(sink, sample.time_ns - origin_ns);
    sink.append(sample.blocked_ns > 0 ? ",\"name\":\"blocked\"" : ",\"name\":\"cpu\"");
    member(sink, ",\"sf\":\"", int64_t{sample.stack} + 1);
    member(sink, "\",\"weight\":", sample.cpu_ns + sample.blocked_ns);
    sink.append("}");
  }
  sink.append("]");
}

}  // namespace sonde::exporting
