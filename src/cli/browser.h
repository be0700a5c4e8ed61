// The user's browser, started with a URL that holds a secret.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace sonde::cli {

// A page of the user alone that leads to a URL: the command line of the browser, which all users of
// a machine can see, names only the page. Removed with its folder at the end.
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
