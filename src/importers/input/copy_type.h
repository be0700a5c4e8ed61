// The direction of a copy, from the words that tools have for it. Used by importers.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace sonde::importers {

constexpr std::string_view kToDevice = "CopyHostToDevice", kToHost = "CopyDeviceToHost",
                           kInDevices = "CopyDeviceToDevice", kInHost = "CopyHostToHost";

// What `text` says in any of the words; "Copy" where it says no direction.
inline std::string_view copy_type(std::string_view text) {
  const auto says = [text](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [text](std::string_view word) { return text.find(word) != text.npos; });
  };
  if (says({"HtoD", "H2D", "HostToDevice", "HOST_TO_DEVICE"})) return kToDevice;
  if (says({"DtoH", "D2H", "DeviceToHost", "DEVICE_TO_HOST"})) return kToHost;
  if (says({"DtoD", "D2D", "PtoP", "DeviceToDevice", "DEVICE_TO_DEVICE"})) return kInDevices;
  if (says({"HtoH", "H2H", "HostToHost", "HOST_TO_HOST"})) return kInHost;
  return "Copy";
}

}  // namespace sonde::importers
