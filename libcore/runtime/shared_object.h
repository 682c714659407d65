#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/kernel_abi.h"
#include "diag/diagnostic.h"
#include "runtime/code_image.h"

namespace penstock::runtime {

/// True if this CPU has every feature (names of bundle/cpu_features.def); else `missing` names one.
bool cpu_has(const std::vector<std::string>& features, std::string* missing);

/// Generated code, mapped into the process.
class SharedObject {
 public:
  /// Whether these bytes, which nobody can change any more, may be run.
  using Check = std::function<Result<void>(std::string_view code)>;

  /// Maps the ELF file whose bytes these are; `name` is for debuggers. Nothing of it runs before
  /// `check` has seen what is mapped, nor when it is opened. PS0705 when it cannot be opened, would
  /// run by itself, or was made for another kernel_abi.h.
  static Result<std::shared_ptr<SharedObject>> open(std::string_view elf, const std::string& name,
                                                    const Check& check);
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  /// The file's bytes, as they are mapped.
  std::string_view elf() const { return image_.bytes(); }
  /// The function called `name`, or null.
  penstock_kernel function(const std::string& name) const;

 private:
  SharedObject(CodeImage image, void* handle) : image_(std::move(image)), handle_(handle) {}
  CodeImage image_;
  void* handle_;
};

}  // namespace penstock::runtime
