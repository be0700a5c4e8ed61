#include "export/events/links.h"

#include <algorithm>

namespace sonde::exporting {

void index_links(Events& events) {
  std::vector<Link>& links = events.links;
  const auto before = [](const Link& a, const Link& b) {
    return a.api != b.api ? a.api < b.api : a.op < b.op;
  };
  if (!std::is_sorted(links.begin(), links.end(), before)) {
    std::sort(links.begin(), links.end(), before);
  }
  const auto same = [](const Link& a, const Link& b) { return a.api == b.api && a.op == b.op; };
  links.erase(std::unique(links.begin(), links.end(), same), links.end());

  if (!events.apis.empty()) events.apis.push_back(Api{});
  size_t at = 0;
  for (size_t i = 0; i < events.apis.size(); ++i) {
    while (at < links.size() && links[at].api < i) ++at;
    events.apis[i].first_link = static_cast<uint32_t>(at);
  }
  for (size_t i = links.size(); i-- > 0;) {
    uint32_t& first = events.ops[links[i].op].first_link;
    links[i].next_of_op = first;
    first = static_cast<uint32_t>(i);
  }
}

}  // namespace sonde::exporting
