// The user's browser, started with a URL that holds a secret.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace sonde::cli {

// A page that only the user can read and that leads to a URL: the browser's command line, which all
// users of a machine can see, names only the page. Removed with its folder at the end.
class LeadingPage {
 public:
  static Result<std::unique_ptr<LeadingPage>> make(const std::string& url);
  ~LeadingPage();
  // By `xdg-open`, without waiting for it.
  Status open() const;
  const std::string& path() const { return path_; }

 private:
  LeadingPage() = default;
  std::string folder_, path_;
};

}  // namespace sonde::cli
