// The CUDA driver, without its headers: the functions below of libcuda.so.1, by the names that its
// header gives them, opened at run time. Kernels are started one by one in the stream that the
// program's torch is using; memory comes from torch's allocator. So the order of a program's own
// work and ours is that of plain PyTorch, and the stream says when memory may be used again.
//
// A thread works in a context. torch makes the device's primary context current in a thread when it
// first uses the device there; a thread in which another is current (another device was chosen, or
// a library has one of its own) gets no kernels of ours.
#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <mutex>
#include <unordered_map>

namespace penstock::runtime::cuda {

namespace {

using Status = int;  // CUresult; 0: success
constexpr Status kSuccess = 0;
constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_…

/// The functions that are used of the driver.
struct Functions {
  Status (*get_device)(int* device, int ordinal) = nullptr;
  Status (*get_attribute)(int* value, int attribute, int device) = nullptr;
  Status (*retain_context)(void** context, int device) = nullptr;
  Status (*get_context)(void** context) = nullptr;
  Status (*set_context)(void* context) = nullptr;
  Status (*load_module)(void** module, const void* image, unsigned options, int* names,
                        void** values) = nullptr;
  Status (*unload_module)(void* module) = nullptr;
  Status (*get_function)(void** function, void* module, const char* name) = nullptr;
  Status (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** parameters, void** extra) = nullptr;
  Status (*upload)(std::uint64_t to, const void* from, std::size_t bytes) = nullptr;
  Status (*copy)(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) = nullptr;
  Status (*wait)(void* stream) = nullptr;
  Status (*is_capturing)(void* stream, int* state) = nullptr;
  Status (*describe)(Status status, const char** text) = nullptr;
  bool complete = false;

  Functions() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    complete = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      complete = complete && function != nullptr;
    };
    find(get_device, "cuDeviceGet");
    find(get_attribute, "cuDeviceGetAttribute");
    find(retain_context, "cuDevicePrimaryCtxRetain");
    find(get_context, "cuCtxGetCurrent");
    find(set_context, "cuCtxSetCurrent");
    find(load_module, "cuModuleLoadDataEx");
    find(unload_module, "cuModuleUnload");
    find(get_function, "cuModuleGetFunction");
    find(launch, "cuLaunchKernel");
    find(upload, "cuMemcpyHtoD_v2");
    find(copy, "cuMemcpyDtoDAsync_v2");
    find(wait, "cuStreamSynchronize");
    find(is_capturing, "cuStreamIsCapturing");
    find(describe, "cuGetErrorString");
  }
};

const Functions& driver() {
  static const Functions functions;
  return functions;
}

Result<void> checked(Status status, const char* what) {
  if (status == kSuccess) return {};
  const char* text = nullptr;
  if (driver().describe(status, &text) != kSuccess || text == nullptr) text = "unknown error";
  return failure(Code::PS0811, std::string(what) + ": " + text);
}

bool is_capturing(void* stream) {
  int state = 0;
  return driver().is_capturing(stream, &state) != kSuccess || state != 0;
}

class Module final : public DeviceCode {
 public:
  Module(void* module, void* context) : module_(module), context_(context) {}
  ~Module() override {
    // The context may be gone at the process's end, and all with it.
    void* before = nullptr;
    if (driver().get_context(&before) != kSuccess) return;
    if (before != context_ && driver().set_context(context_) != kSuccess) return;
    driver().unload_module(module_);
    if (before != context_) driver().set_context(before);
  }
  void* function(const std::string& name) override {
    void* function = nullptr;
    return driver().get_function(&function, module_, name.c_str()) == kSuccess ? function : nullptr;
  }

 private:
  void* module_;
  void* context_;
};

class Gpu final : public Device {
 public:
  Gpu(void* context, int index, Host host)
      : context_(context), index_(index), host_(std::move(host)) {}

  Result<void> enter() override {
    void* current = nullptr;
    if (auto done = checked(driver().get_context(&current), "the current context"); !done)
      return done;
    // A thread that has not used CUDA yet uses device 0, in torch too.
    if (current == nullptr && index_ == 0) {
      if (auto done = checked(driver().set_context(context_), "a context"); !done) return done;
    } else if (current != context_) {
      return failure(Code::PS0811, "another device is current");
    }
    stream_ = host_.current_stream();
    return {};
  }

  std::shared_ptr<MemoryPool> memory() override { return host_.memory; }

  Result<std::shared_ptr<DeviceCode>> load(std::string_view format,
                                           std::string_view code) override {
    if (format != "ptx" && format != "cubin")
      return failure(Code::PS0811, "code of the format '" + std::string(format) + "'");
    // What loading allocates would break the capture.
    if (is_capturing(stream_)) return failure(Code::PS0811, "the stream is being captured");
    const std::string text(code);  // the driver reads PTX up to its end
    void* module = nullptr;
    auto loaded = checked(driver().load_module(&module, text.c_str(), 0, nullptr, nullptr),
                          "loading kernels");
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    return std::make_shared<Module>(module, context_);
  }

  Result<void> launch(void* function, const DeviceGrid& grid, void** parameters) override {
    return checked(
        driver().launch(function, grid.blocks[0], grid.blocks[1], grid.blocks[2], grid.threads[0],
                        grid.threads[1], 1, 0, stream_, parameters, nullptr),
        "starting a kernel");
  }

  Result<void> upload(void* to, const void* from, std::size_t bytes) override {
    if (is_capturing(stream_)) return failure(Code::PS0811, "the stream is being captured");
    return checked(driver().upload(reinterpret_cast<std::uint64_t>(to), from, bytes), "a copy");
  }

  Result<void> copy(void* to, const void* from, std::size_t bytes) override {
    return checked(driver().copy(reinterpret_cast<std::uint64_t>(to),
                                 reinterpret_cast<std::uint64_t>(from), bytes, stream_),
                   "a copy");
  }

 private:
  void* context_;
  int index_;
  Host host_;
  void* stream_ = nullptr;
};

}  // namespace

Result<std::shared_ptr<Device>> open_device(int index, Host host) {
  if (!driver().complete) return failure(Code::PS0811, "there is no CUDA driver");
  int device = 0;
  if (auto done = checked(driver().get_device(&device, index), "the device"); !done)
    return tl::unexpected(std::move(done.error()));
  void* context = nullptr;
  // Never released: torch holds it as long as the process.
  if (auto done = checked(driver().retain_context(&context, device), "the device's context"); !done)
    return tl::unexpected(std::move(done.error()));
  return std::make_shared<Gpu>(context, index, std::move(host));
}

int architecture(int index) {
  int device = 0, major = 0, minor = 0;
  const bool known = driver().complete && driver().get_device(&device, index) == kSuccess &&
                     driver().get_attribute(&major, kMajor, device) == kSuccess &&
                     driver().get_attribute(&minor, kMinor, device) == kSuccess;
  return known ? 10 * major + minor : 0;
}

void synchronize(void* stream) {
  if (driver().complete && !is_capturing(stream)) driver().wait(stream);
}

}  // namespace penstock::runtime::cuda
