#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/kernel_abi.h"
#include "diag/diagnostic.h"

namespace penstock::runtime {

/// True if this CPU has every feature (names of bundle/cpu_features.def); else `missing` names one.
bool cpu_has(const std::vector<std::string>& features, std::string* missing);

/// Generated code, mapped into the process.
class SharedObject {
 public:
  /// Maps the ELF file. PS0705 when it cannot be opened or was made for another kernel_abi.h.
  static Result<std::shared_ptr<SharedObject>> open(const std::string& path);
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  /// The function called `name`, or null.
  penstock_kernel function(const std::string& name) const;

 private:
  explicit SharedObject(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace penstock::runtime
