// Devices, layouts and memory formats by name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fl {

// Names are known for all of PyTorch's devices; memory only exists on the CPU and, as sizes alone, on meta.
enum class DeviceType : uint8_t {
  CPU,
  Meta,
  CUDA,
  MKLDNN,
  OpenGL,
  OpenCL,
  IDEEP,
  HIP,
  FPGA,
  MAIA,
  XLA,
  Lazy,
  Vulkan,
  Metal,
  XPU,
  MPS,
  HPU,
  VE,
  IPU,
  MTIA,
  PrivateUse
};
inline constexpr std::string_view kDeviceNames[] = {
    "cpu",  "meta",   "cuda",  "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia",         "xla",
    "lazy", "vulkan", "metal", "xpu",    "mps",    "hpu",    "ve",    "ipu", "mtia", "privateuseone"};
struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;
  bool operator==(const Device&) const = default;
};
inline std::string device_text(Device d) {
  std::string s(kDeviceNames[static_cast<int>(d.type)]);
  return d.index >= 0 ? s + ":" + std::to_string(d.index) : s;
}
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

}  // namespace fl
