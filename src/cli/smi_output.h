// What `sonde rocm-smi` prints, in the form of rocm-smi: sections of lines between spacers, or one
// JSON object or CSV table of all of them. Everything is kept until the end.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sonde::cli {

// A number as Python prints it: "90.0".
std::string python_float(double value);

class SmiOutput {
 public:
  enum class Form { kText, kJson, kCsv };
  SmiOutput(Form form, std::vector<int64_t> devices, size_t width);

  // Spacers from here on, and those around everything, are as wide as this, or one more: always an
  // even number.
  void fit(size_t width);

  void section(const std::string& title);  // opens it; the one before is closed
  void log(int64_t device, const std::string& name, const std::string& value);
  void log(int64_t device, const std::string& text);  // no value
  void line(const std::string& text);                 // in text only
  void rule();                                        // a spacer within a section
  void system(const std::string& name, const std::string& value);
  bool is_text() const { return form_ == Form::kText; }
  // A value was missing: the exit status says so.
  void missing() { status_ = 2; }

  int status() const { return status_; }
  bool has_data() const;
  std::string finish();

 private:
  using Values = std::vector<std::pair<std::string, std::string>>;
  static void put(Values& values, const std::string& name, const std::string& value);
  std::string spacer(std::string title = {}) const;
  std::string json() const;
  std::string csv() const;

  Form form_;
  size_t width_;
  std::vector<int64_t> devices_;
  std::vector<Values> values_;
  Values system_;
  std::string text_;
  bool open_ = false;
  int status_ = 0;
};

}  // namespace sonde::cli
