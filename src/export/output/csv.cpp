#include "export/output/csv.h"

#include <fmt/format.h>

#include "export/output/json_text.h"

namespace sonde::exporting {

CsvFile::CsvFile(std::string path, std::string header)
    : path_(std::move(path)), header_(std::move(header)) {}

void CsvFile::begin_field() {
  if (!sink_ && status_) {
    Result<Sink> sink = Sink::create(path_, Sink::Encoding::kPlain);
    if (!sink) {
      status_ = sink.error();
      return;
    }
    sink_.emplace(std::move(*sink));
    sink_->append(header_);
    sink_->append("\n");
  }
  if (sink_ && in_row_) sink_->append(",");
  in_row_ = true;
}

void CsvFile::text(std::string_view value) {
  begin_field();
  if (!sink_) return;
  sink_->append("\"");
  for (size_t quote; (quote = value.find('"')) != std::string_view::npos;) {
    sink_->append(value.substr(0, quote + 1));
    sink_->append("\"");
    value.remove_prefix(quote + 1);
  }
  sink_->append(value);
  sink_->append("\"");
}

void CsvFile::number(int64_t value) {
  begin_field();
  if (sink_) append_integer(*sink_, value);
}

void CsvFile::number(std::optional<int64_t> value) {
  if (value) {
    number(*value);
  } else {
    empty();
  }
}

void CsvFile::known(int64_t value) {
  number(value < 0 ? std::nullopt : std::optional<int64_t>(value));
}

void CsvFile::real(double value) { bare(fmt::format("{:.6f}", value)); }

void CsvFile::bare(std::string_view text) {
  begin_field();
  if (sink_) sink_->append(text);
}

void CsvFile::end_row() {
  if (sink_) sink_->append("\n");
  in_row_ = false;
}

Status CsvFile::finish() {
  if (!status_) return status_;
  return sink_ ? sink_->finish() : ok_status();
}

}  // namespace sonde::exporting
