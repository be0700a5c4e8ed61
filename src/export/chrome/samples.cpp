// Sampled call stacks: the members stackFrames and samples of the document, where there are any.
#include "export/chrome/writer.h"

namespace sonde::exporting {

void ChromeWriter::stack_frames(const CallSamples& call_samples) {
  sink_.append(",\"stackFrames\":{");
  for (size_t i = 0; i < call_samples.stacks.size(); ++i) {
    const SampleStack& stack = call_samples.stacks[i];
    const SampleFrame& frame = call_samples.frames[stack.frame];
    member(i == 0 ? "\n\"" : ",\n\"", static_cast<int64_t>(i) + 1);
    member("\":{\"name\":", frame.text);
    member(",\"category\":", frame.is_python         ? "python"
                             : frame.module == kNone ? "native"
                                                     : call_samples.modules[frame.module].path);
    if (!frame.file.empty()) member(",\"file\":", frame.file);
    if (frame.line > 0) member(",\"line\":", frame.line);
    if (stack.parent != kNone) {
      member(",\"parent\":\"", int64_t{stack.parent} + 1);
      sink_.append("\"");
    }
    sink_.append("}");
  }
  sink_.append("}");
}

void ChromeWriter::stack_samples(const CallSamples& call_samples) {
  if (call_samples.samples.empty()) return;
  stack_frames(call_samples);
  sink_.append(",\"samples\":[");
  bool first = true;
  for (const CallSample& sample : call_samples.samples) {
    member(first ? "\n{\"pid\":" : ",\n{\"pid\":", numbers_.pid(sample.pid));
    first = false;
    member(",\"tid\":", numbers_.tid(sample.pid, sample.tid));
    sink_.append(",\"ts\":");
    time(sample.time_ns);
    sink_.append(sample.blocked_ns > 0 ? ",\"name\":\"blocked\"" : ",\"name\":\"cpu\"");
    member(",\"sf\":\"", int64_t{sample.stack} + 1);
    member("\",\"weight\":", sample.cpu_ns + sample.blocked_ns);
    sink_.append("}");
  }
  sink_.append("]");
}

}  // namespace sonde::exporting
