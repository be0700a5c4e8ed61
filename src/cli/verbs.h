// Which question each verb answers, and which verbs are views of another. `sonde --help` shows the
// verbs by question; a view is a verb of its own too, as RPD and earlier versions called it, and
// prints the same figures either way: `sonde kernels --top FILE` is `sonde top FILE`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde::cli {

struct View {
  const char* name;
  const char* what;
};

struct Verb {
  const char* name;
  const char* question;       // heading in `sonde --help`
  std::vector<View> views{};  // verbs that are shown as options of this one
};

// In the order in which help shows them.
const std::vector<Verb>& shown_verbs();

// The verb that `name` is a view of; "" if it stands for itself.
std::string_view whole_of(std::string_view name);
// Views of `name`; empty if there are none.
const std::vector<View>& views_of(std::string_view name);

// Takes the view's option out of `words`, which follow `name`, and returns the verb that was meant.
std::string take_view(std::string_view name, bool takes_command_line,
                      std::vector<std::string>& words);

// RPD's own view of the figures that `name` corrects: --rpd prints it; "" if there is none.
std::string rpd_view_of(std::string_view name);

}  // namespace sonde::cli
