#include "runtime/cuda/functions.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace penstock::runtime::cuda {

Functions::Functions() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  bool all = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    all = all && function != nullptr;
  };
  find(get_device, "cuDeviceGet");
  find(get_attribute, "cuDeviceGetAttribute");
  find(get_name, "cuDeviceGetName");
  find(get_version, "cuDriverGetVersion");
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
  complete = all;
  find(memory_info, "cuMemGetInfo_v2");
  find(make_stream, "cuStreamCreate");
  find(begin_capture, "cuStreamBeginCapture_v2");
  find(end_capture, "cuStreamEndCapture");
  find(capture_info, "cuStreamGetCaptureInfo_v2");
  find(list_nodes, "cuGraphGetNodes");
  find(node_type, "cuGraphNodeGetType");
  find(copy_node, "cuGraphMemcpyNodeGetParams");
  find(pointer_attribute, "cuPointerGetAttribute");
  find(instantiate, "cuGraphInstantiateWithFlags");
  find(set_kernel, "cuGraphExecKernelNodeSetParams_v2");
  find(launch_graph, "cuGraphLaunch");
  find(destroy_executable, "cuGraphExecDestroy");
  find(destroy_graph, "cuGraphDestroy");
  has_graphs = all;
}

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

}  // namespace penstock::runtime::cuda
