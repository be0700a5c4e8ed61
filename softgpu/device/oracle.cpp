#include "device/oracle.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/strings.h"
#include "device/device.h"

namespace softgpu {
namespace {

void put(std::string& out, std::string_view key, uint64_t value) {
  ((out += ",\"") += key) += "\":";
  out += std::to_string(value);
}

void put_address(std::string& out, std::string_view key, uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "\"0x%llx\"", static_cast<unsigned long long>(value));
  (((out += ",\"") += key) += "\":") += text;
}

void put(std::string& out, std::string_view key, std::string_view value) {
  ((out += ",\"") += key) += "\":" + sonde::json_quote(value);
}

void put(std::string& out, std::string_view key, const std::array<uint32_t, 3>& value) {
  ((out += ",\"") += key) += "\":[";
  out += std::to_string(value[0]) + ',' + std::to_string(value[1]) + ',' + std::to_string(value[2]);
  out += ']';
}

std::string line_of(const PacketRecord& record, std::string_view line, const ClockConfig& clock) {
  std::string out = "{\"line\":\"";
  (out += line) += '"';
  put(out, "pid", static_cast<uint64_t>(getpid()));
  put(out, "gpu", record.gpu);
  put(out, "queue", record.queue);
  put(out, "engine", record.sdma ? "sdma" : "aql");
  put(out, "index", record.index);
  put(out, "kind", record.kind);
  if (record.kind == "kernel") {
    put(out, "name", record.name);
    put(out, "grid", record.grid);
    put(out, "group", record.group);
    out += record.computed ? ",\"computed\":true" : ",\"computed\":false";
  }
  if (!record.transfer.empty()) {
    if (!record.sdma) put(out, "blit", record.transfer);
    put(out, "bytes", record.bytes);
    put_address(out, "src", record.src);
    put_address(out, "dst", record.dst);
  }
  if (!record.fault.empty()) put(out, "fault", record.fault);
  put_address(out, "signal", record.signal);
  put(out, "start_ticks", device_ticks_at(clock, record.start_ns));
  put(out, "end_ticks", device_ticks_at(clock, record.end_ns));
  put(out, "start_ns", static_cast<uint64_t>(record.start_ns));
  put(out, "end_ns", static_cast<uint64_t>(record.end_ns));
  return out;
}

}  // namespace

Oracle::Oracle(const Config& config, Notices& notices) : config_(config), notices_(notices) {
  if (config.log_path.empty()) return;
  fd_ = open(config.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    notices.once("cannot write the log " + config.log_path + ": " + std::strerror(errno) +
                 "; running without it");
  }
}

Oracle::~Oracle() {
  if (fd_ >= 0) close(fd_);
}

void Oracle::packet(const PacketRecord& record) {
  if (!enabled()) return;
  append(line_of(record, "packet", config_.gpus[record.gpu].clock) + "}\n");
}

void Oracle::op(const OpRecord& record) {
  if (!enabled()) return;
  std::string out = line_of(record.packet, "op", config_.gpus[record.packet.gpu].clock);
  put(out, "packets", record.packets);
  append(out + "}\n");
}

void Oracle::append(const std::string& line) {
  if (write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    notices_.once("the log " + config_.log_path + " is not complete: " + std::strerror(errno));
  }
}

}  // namespace softgpu
