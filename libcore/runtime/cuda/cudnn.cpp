#include "runtime/cuda/cudnn.h"

#include <utility>

#include "runtime/cuda/library_functions.h"

namespace penstock::runtime::cuda {

Cudnn::Cudnn() {
  constexpr const char* kNames[] = {"libcudnn.so.9"};
  LibraryFunctions library(kNames);
  library.find(create, "cudnnCreate");
  library.find(set_stream, "cudnnSetStream");
  library.find(last_error, "cudnnGetLastErrorString");
  library.find(create_descriptor, "cudnnBackendCreateDescriptor");
  library.find(destroy_descriptor, "cudnnBackendDestroyDescriptor");
  library.find(set, "cudnnBackendSetAttribute");
  library.find(get, "cudnnBackendGetAttribute");
  library.find(finalize, "cudnnBackendFinalize");
  library.find(execute, "cudnnBackendExecute");
  complete = library.all();
}

const Cudnn& cudnn() {
  static const Cudnn functions;
  return functions;
}

CudnnDescriptor::CudnnDescriptor(int kind)
    : status_(cudnn().create_descriptor(kind, &descriptor_)) {}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)), status_(other.status_) {}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnn().destroy_descriptor(descriptor_);
}

void CudnnDescriptor::put(int attribute, CudnnType type, std::int64_t count, const void* values) {
  if (status_ == 0)
    status_ = cudnn().set(descriptor_, attribute, static_cast<int>(type), count, values);
}

std::int64_t CudnnDescriptor::read(int attribute, CudnnType type, std::int64_t wanted,
                                   void* values) const {
  std::int64_t count = 0;
  const int status =
      cudnn().get(descriptor_, attribute, static_cast<int>(type), wanted, &count, values);
  return status == 0 ? count : 0;
}

Result<void> CudnnDescriptor::make(const char* what) {
  if (status_ == 0) status_ = cudnn().finalize(descriptor_);
  return checked_cudnn(status_, what);
}

Result<void> checked_cudnn(int status, const char* what) {
  if (status == 0) return {};
  char reason[512] = {};
  cudnn().last_error(reason, sizeof reason - 1);
  return failure(Code::PS0811,
                 std::string(what) + " by cuDNN: status " + std::to_string(status) + ", " + reason);
}

}  // namespace penstock::runtime::cuda
