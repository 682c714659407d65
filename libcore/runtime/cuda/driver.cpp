// The CUDA driver, without its headers: functions of libcuda.so.1, opened at run time. Kernels are
// started in the stream that the program's torch is using, one by one or as a graph; memory comes
// from torch's allocator. So the order of a program's own work and ours is that of plain PyTorch,
// and the stream says when memory may be used again.
//
// Graphs work on memory that is theirs while they run, all on the same, and is nobody's between
// runs. That is safe in one stream: the first in which one is recorded. In another stream, and in
// one that the program itself captures, kernels are started one by one.
//
// A thread works in a context. torch makes the device's primary context current in a thread when it
// first uses the device there; a thread in which another is current (another device was chosen, or
// a library has one of its own) gets no kernels of ours.
#include "runtime/cuda/driver.h"

#include <optional>
#include <utility>

#include "runtime/cuda/convolutions.h"
#include "runtime/cuda/functions.h"
#include "runtime/cuda/index_check.h"
#include "runtime/cuda/products.h"
#include "runtime/cuda/recording.h"

namespace penstock::runtime::cuda {

namespace {

constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_…

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

/// What is done on a GPU without a kernel of the bundle's own.
class GpuLibrary final : public Library {
 public:
  GpuLibrary(Device& device, LibraryHost products, LibraryHost convolutions)
      : checks_(device, products.stream),
        products_(open_products(std::move(products))),
        convolutions_(open_convolutions(std::move(convolutions))) {}

  Result<std::unique_ptr<LibraryKernel>> make(const LibraryCall& call,
                                              const LibraryOperands& operands) override {
    if (call.name == "check_index") return checks_.make(call, operands);
    const bool convolves = call.name == "convolution";
    Library* library = convolves ? convolutions_.get() : products_.get();
    if (library != nullptr) return library->make(call, operands);
    return failure(Code::PS0811, convolves ? "there is no library of convolutions (cuDNN)"
                                           : "there is no library of products (cuBLASLt)");
  }

 private:
  IndexChecks checks_;
  std::unique_ptr<Library> products_, convolutions_;
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

  Library* library() override {
    if (library_ == nullptr) {
      const auto stream = [this] { return stream_; };
      library_ = std::make_unique<GpuLibrary>(
          *this, LibraryHost{host_.memory, stream, host_.allows_tf32},
          LibraryHost{host_.memory, stream, host_.allows_tf32_convolutions});
    }
    return library_.get();
  }

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
    auto started = checked(
        driver().launch(function, grid.blocks[0], grid.blocks[1], grid.blocks[2], grid.threads[0],
                        grid.threads[1], 1, 0, stream_, parameters, nullptr),
        "starting a kernel");
    if (!started || recording_ == nullptr || stream_ != recording_->stream()) return started;
    return recording_->note_kernel({function,
                                    {grid.blocks[0], grid.blocks[1], grid.blocks[2]},
                                    {grid.threads[0], grid.threads[1], 1}});
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

  bool takes_graphs() override {
    return host_.redirect && home_.value_or(stream_) == stream_ && !is_capturing(stream_);
  }

  Result<void> begin_recording() override {
    if (!takes_graphs() || redirected_ != nullptr)
      return failure(Code::PS0811, "graphs belong to another stream");
    if (recording_ == nullptr) {
      auto opened = Recording::open();
      if (!opened) return tl::unexpected(std::move(opened.error()));
      recording_ = std::move(*opened);
    }
    void* home = stream_;
    redirected_ = host_.redirect(recording_->stream());
    if (redirected_ == nullptr) return failure(Code::PS0811, "torch's stream cannot be another");
    auto begun = recording_->begin();
    if (begun) begun = enter();
    if (begun) {
      home_ = home;
    } else {
      stop_recording();
    }
    return begun;
  }

  Result<std::unique_ptr<DeviceGraph>> end_recording() override { return stop_recording(); }

 private:
  Result<std::unique_ptr<DeviceGraph>> stop_recording() {
    auto graph = recording_->end(host_.current_stream);
    redirected_ = nullptr;
    stream_ = host_.current_stream();
    return graph;
  }

  void* context_;
  int index_;
  Host host_;
  void* stream_ = nullptr;
  std::unique_ptr<Library> library_;
  std::unique_ptr<Recording> recording_;
  std::shared_ptr<void> redirected_;  ///< while something is recorded
  std::optional<void*> home_;         ///< the stream of all graphs
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

std::string describe(int index) {
  char name[256] = {};
  int device = 0, version = 0;
  const bool known = driver().complete && driver().get_device(&device, index) == kSuccess &&
                     driver().get_name(name, sizeof name - 1, device) == kSuccess &&
                     driver().get_version(&version) == kSuccess;
  return known ? name + std::string(" ") + std::to_string(version) : std::string();
}

void synchronize(void* stream) {
  if (driver().complete && !is_capturing(stream)) driver().wait(stream);
}

}  // namespace penstock::runtime::cuda
