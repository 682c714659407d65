#include "runtime/shared_object.h"

#include <dlfcn.h>

#include "runtime/perf_map.h"

namespace penstock::runtime {

namespace {

struct CpuFeature {
  std::string_view name;
  bool (*present)();
};

constexpr CpuFeature kCpuFeatures[] = {
#define PS_CPU_FEATURE(name, check) {name, [] { return __builtin_cpu_supports(check) != 0; }},
#include "bundle/cpu_features.def"
#undef PS_CPU_FEATURE
};

bool has_feature(std::string_view name) {
  for (const CpuFeature& feature : kCpuFeatures) {
    if (feature.name == name) return feature.present();
  }
  return false;
}

}  // namespace

bool cpu_has(const std::vector<std::string>& features, std::string* missing) {
  for (const std::string& feature : features) {
    if (has_feature(feature)) continue;
    if (missing != nullptr) *missing = feature;
    return false;
  }
  return true;
}

Result<std::shared_ptr<SharedObject>> SharedObject::open(std::string_view elf,
                                                         const std::string& name,
                                                         const Check& check) {
  auto image = CodeImage::copy(elf, name);
  if (!image) return tl::unexpected(std::move(image.error()));
  if (auto good = check(image->bytes()); !good) return tl::unexpected(std::move(good.error()));
  if (std::string part = unsafe_part(image->bytes()); !part.empty()) {
    return failure(Code::PS0705, name + " is not code that penstock makes: " + part);
  }
  void* handle = dlopen(image->path().c_str(), RTLD_NOW | RTLD_LOCAL);
  image->close_file();
  if (handle == nullptr) return failure(Code::PS0705, dlerror());
  move_for_perf(handle, image->bytes());
  std::shared_ptr<SharedObject> object(new SharedObject(std::move(*image), handle));
  auto* version = static_cast<const std::int32_t*>(dlsym(handle, "penstock_abi_version"));
  if (version == nullptr || *version != PENSTOCK_KERNEL_ABI) {
    return failure(Code::PS0705, name + " was made for another version of the kernel ABI");
  }
  return object;
}

SharedObject::~SharedObject() {
  dlclose(handle_);
}

penstock_kernel SharedObject::function(const std::string& name) const {
  return reinterpret_cast<penstock_kernel>(dlsym(handle_, name.c_str()));
}

}  // namespace penstock::runtime
