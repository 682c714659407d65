#include "runtime/device.h"

namespace penstock::runtime {

Result<void> Device::begin_recording() {
  return failure(Code::PS0811, "a device without graphs");
}

Result<std::unique_ptr<DeviceGraph>> Device::end_recording() {
  return failure(Code::PS0811, "nothing is recorded");
}

}  // namespace penstock::runtime
