#include "runtime/cuda/cudnn.h"

#include <dlfcn.h>

#include <type_traits>
#include <utility>

namespace penstock::runtime::cuda {

namespace {

/// Two versions in one process would each load their kernels: the one that is open goes first.
void* open_library() {
  for (const int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    if (void* library = dlopen("libcudnn.so.9", flags)) return library;
  }
  return nullptr;
}

}  // namespace

Cudnn::Cudnn() {
  void* library = open_library();
  if (library == nullptr) return;
  complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  find(create, "cudnnCreate");
  find(set_stream, "cudnnSetStream");
  find(last_error, "cudnnGetLastErrorString");
  find(create_descriptor, "cudnnBackendCreateDescriptor");
  find(destroy_descriptor, "cudnnBackendDestroyDescriptor");
  find(set, "cudnnBackendSetAttribute");
  find(get, "cudnnBackendGetAttribute");
  find(finalize, "cudnnBackendFinalize");
  find(execute, "cudnnBackendExecute");
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
