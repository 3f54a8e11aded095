// Devices, layouts and memory formats by name.
#pragma once
#include <cstdint>

namespace fl {

enum class DeviceType : uint8_t { CPU, Meta };
struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;
  bool operator==(const Device&) const = default;
};
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

}  // namespace fl
