#include <dlfcn.h>
#include <unistd.h>

#include <mutex>

#include "runtime/library_kernel.h"

namespace penstock::runtime {

std::string find_component(std::string_view name, std::string_view folder) {
  Dl_info info;
  std::string own;
  if (dladdr(reinterpret_cast<void*>(&find_component), &info) != 0 && info.dli_fname != nullptr) {
    own = info.dli_fname;
  }
  // The main program has the name that it was started with: its link in /proc is the file.
  char link[4096];
  if (access(own.c_str(), R_OK) != 0 || own.find('/') == std::string::npos) {
    ssize_t length = readlink("/proc/self/exe", link, sizeof link);
    own = length > 0 ? std::string(link, length) : std::string();
  } else if (char* real = realpath(own.c_str(), link)) {
    own = real;
  }
  std::string here = own.substr(0, own.rfind('/'));
  // Installed beside the extension, seen from bin, or from a library; in a build tree up to four
  // folders above.
  std::string file(name);
  std::string places[] = {here + "/" + file, here + "/../" PENSTOCK_LIBDIR "/penstock/" + file,
                          here + "/penstock/" + file};
  for (const std::string& place : places) {
    if (access(place.c_str(), R_OK) == 0) return place;
  }
  std::string root = here;
  for (int up = 0; up < 5; ++up) {
    std::string place = root + "/" + std::string(folder) + "/" + file;
    if (access(place.c_str(), R_OK) == 0) return place;
    root += "/..";
  }
  return {};
}

Result<std::shared_ptr<Library>> open_library(bool deterministic,
                                              std::shared_ptr<PackedStore> packed) {
  constexpr const char* kName = "libpenstock-onednn.so";
  std::string path = find_component(kName, "libcore/runtime");
  // Never closed: oneDNN keeps threads and caches that outlive it badly.
  void* handle = dlopen(path.empty() ? kName : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return failure(Code::PS0707, dlerror());
  auto make = reinterpret_cast<Library* (*)(bool, std::shared_ptr<PackedStore>)>(
      dlsym(handle, "penstock_make_library"));
  if (make == nullptr) return failure(Code::PS0707, kName + std::string(" does not fit"));
  return std::shared_ptr<Library>(make(deterministic, std::move(packed)));
}

}  // namespace penstock::runtime
