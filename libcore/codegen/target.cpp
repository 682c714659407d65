#include "codegen/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "codegen/compiler.h"

namespace penstock::codegen {

namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
constexpr const char* kDeviceTriple = "nvptx64-nvidia-cuda";

constexpr const char* kFeatures[] = {
#define PS_CPU_FEATURE(name, check) name,
#include "bundle/cpu_features.def"
#undef PS_CPU_FEATURE
};

const llvm::Target* x86_target() {
  static const llvm::Target* target = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(kTriple, error);
  }();
  return target;
}

std::unique_ptr<llvm::MCSubtargetInfo> subtarget_of(const std::string& cpu) {
  const llvm::Target* target = x86_target();
  if (target == nullptr) return nullptr;
  std::unique_ptr<llvm::MCSubtargetInfo> any(target->createMCSubtargetInfo(kTriple, "x86-64", ""));
  if (!any->isCPUStringValid(cpu)) return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(target->createMCSubtargetInfo(kTriple, cpu, ""));
}

bool has_avx512(const llvm::MCSubtargetInfo& subtarget) {
  return subtarget.checkFeatures("+avx512f,+avx512bw,+avx512dq,+avx512vl");
}

std::string resolve_name(std::string_view cpu) {
  if (cpu != "host" && cpu != "native") return std::string(cpu);
  std::string native = llvm::sys::getHostCPUName().str();
  if (cpu == "native") return native;
  auto features = llvm::sys::getHostCPUFeatures();
  bool v4 = features["avx512f"] && features["avx512bw"] && features["avx512dq"] &&
            features["avx512vl"] && features["avx512cd"];
  return v4 ? "x86-64-v4" : features["avx2"] && features["fma"] ? "x86-64-v3" : native;
}

}  // namespace

Result<Target> find_target(std::string_view cpu, int lanes) {
  if (auto known = level_target(cpu, lanes); known && known->device) return *known;
  Target target;
  target.cpu = resolve_name(cpu);
  auto subtarget = subtarget_of(target.cpu);
  if (subtarget == nullptr) {
    return failure(Code::PS0703, "LLVM knows no x86-64 CPU called '" + target.cpu + "'");
  }
  if (!subtarget->checkFeatures("+avx2,+fma,+f16c,+bmi2")) {
    return failure(Code::PS0703, "'" + target.cpu +
                                     "' lacks AVX2, FMA or F16C; code is made for "
                                     "x86-64-v3 and above");
  }
  for (const char* feature : kFeatures) {
    if (subtarget->checkFeatures(std::string("+") + feature)) target.features.push_back(feature);
  }
  target.avx512 = has_avx512(*subtarget);
  target.lanes = lanes != 0 ? lanes : target.avx512 ? 16 : 8;
  if (target.lanes != 8 && target.lanes != 16) {
    return failure(Code::PS0703, "a vector has 8 or 16 lanes, not " + std::to_string(target.lanes));
  }
  return target;
}

/// PTX of a version that drivers for CUDA 12.3 and later take.
static Result<std::unique_ptr<llvm::TargetMachine>> make_device_machine(const Target& target) {
  static const llvm::Target* nvptx = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(kDeviceTriple, error);
  }();
  if (nvptx == nullptr) return failure(Code::PS0703, "this LLVM has no NVPTX code generator");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(nvptx->createTargetMachine(
      kDeviceTriple, target.cpu, "+ptx83", options, {}, {}, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return failure(Code::PS0703, "LLVM has no machine for " + target.cpu);
  return machine;
}

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const Target& target) {
  if (target.device) return make_device_machine(target);
  const llvm::Target* x86 = x86_target();
  if (x86 == nullptr) return failure(Code::PS0703, "this LLVM has no x86 code generator");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      x86->createTargetMachine(kTriple, target.cpu, "", options, llvm::Reloc::PIC_,
                               llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return failure(Code::PS0703, "LLVM has no machine for " + target.cpu);
  return machine;
}

}  // namespace penstock::codegen
