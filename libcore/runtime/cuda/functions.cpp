#include "runtime/cuda/functions.h"

#include <string>

#include "runtime/cuda/library_functions.h"

namespace penstock::runtime::cuda {

Functions::Functions() {
  constexpr const char* kNames[] = {"libcuda.so.1"};
  LibraryFunctions library(kNames);
  library.find(get_device, "cuDeviceGet");
  library.find(get_attribute, "cuDeviceGetAttribute");
  library.find(get_name, "cuDeviceGetName");
  library.find(get_version, "cuDriverGetVersion");
  library.find(retain_context, "cuDevicePrimaryCtxRetain");
  library.find(get_context, "cuCtxGetCurrent");
  library.find(set_context, "cuCtxSetCurrent");
  library.find(load_module, "cuModuleLoadDataEx");
  library.find(unload_module, "cuModuleUnload");
  library.find(get_function, "cuModuleGetFunction");
  library.find(launch, "cuLaunchKernel");
  library.find(upload, "cuMemcpyHtoD_v2");
  library.find(copy, "cuMemcpyDtoDAsync_v2");
  library.find(wait, "cuStreamSynchronize");
  library.find(is_capturing, "cuStreamIsCapturing");
  library.find(describe, "cuGetErrorString");
  complete = library.all();
  library.find(memory_info, "cuMemGetInfo_v2");
  library.find(make_stream, "cuStreamCreate");
  library.find(begin_capture, "cuStreamBeginCapture_v2");
  library.find(end_capture, "cuStreamEndCapture");
  library.find(capture_info, "cuStreamGetCaptureInfo_v2");
  library.find(list_nodes, "cuGraphGetNodes");
  library.find(node_type, "cuGraphNodeGetType");
  library.find(copy_node, "cuGraphMemcpyNodeGetParams");
  library.find(pointer_attribute, "cuPointerGetAttribute");
  library.find(instantiate, "cuGraphInstantiateWithFlags");
  library.find(set_kernel, "cuGraphExecKernelNodeSetParams_v2");
  library.find(launch_graph, "cuGraphLaunch");
  library.find(destroy_executable, "cuGraphExecDestroy");
  library.find(destroy_graph, "cuGraphDestroy");
  has_graphs = library.all();
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
