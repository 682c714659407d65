#include "codegen/compile.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar.h>

#include <algorithm>
#include <atomic>
#include <queue>
#include <thread>

#include "bundle/kernel_abi.h"
#include "codegen/kernel_emitter.h"

namespace penstock::codegen {

namespace {

void add_abi_version(llvm::Module& module) {
  auto* type = llvm::Type::getInt32Ty(module.getContext());
  new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage,
                           llvm::ConstantInt::get(type, PENSTOCK_KERNEL_ABI),
                           "penstock_abi_version");
}

Result<void> emit_jobs(llvm::Module& module, const std::vector<FunctionJob>& jobs,
                       const CompileContext& context) {
  for (const FunctionJob& job : jobs) {
    KernelEmitter emitter(module, context.target, context.buffers, context.symbols);
    if (auto done = emitter.emit(*job.kernel, *job.signature, job.name); !done) {
      if (done.error().place.empty()) done.error().place = "kernel " + job.kernel->name;
      return done;
    }
  }
  return {};
}

/// Whether kernels call functions that are to stand in their loops.
bool has_helpers(const llvm::Module& module) {
  return std::ranges::any_of(module, [](const llvm::Function& function) {
    return function.hasFnAttribute(llvm::Attribute::AlwaysInline);
  });
}

/// One module from IR to bytes: no pass but the code generator's own, and those that put helpers
/// into the loops.
Result<std::string> compile_module(const std::vector<FunctionJob>& jobs,
                                   const CompileContext& context, bool with_version,
                                   CodeText text) {
  if (auto may = check(context.budget,
                       jobs.empty() ? "code generation" : "kernel " + jobs.front().kernel->name);
      !may) {
    return tl::unexpected(std::move(may.error()));
  }
  llvm::LLVMContext llvm_context;
  auto machine = make_machine(context.target);
  if (!machine) return tl::unexpected(machine.error());
  llvm::Module module("penstock", llvm_context);
  module.setTargetTriple((*machine)->getTargetTriple().str());
  module.setDataLayout((*machine)->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  if (with_version) add_abi_version(module);
  if (auto done = emit_jobs(module, jobs, context); !done) return tl::unexpected(done.error());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (text == CodeText::llvm) {
    module.print(stream, nullptr);
    return std::string(bytes.begin(), bytes.end());
  }
  llvm::legacy::PassManager passes;
  if (has_helpers(module)) {
    passes.add(llvm::createEarlyCSEPass());  // sin and cos of one angle call a helper once
    passes.add(llvm::createAlwaysInlinerLegacyPass());
  }
  auto kind = text == CodeText::assembly ? llvm::CodeGenFileType::AssemblyFile
                                         : llvm::CodeGenFileType::ObjectFile;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, kind)) {
    return failure(Code::PS0704, "LLVM cannot write object files for " + context.target.cpu);
  }
  passes.run(module);
  if (context.budget != nullptr) context.budget->add_code(bytes.size());
  return std::string(bytes.begin(), bytes.end());
}

/// A measure of how long a job takes to compile.
std::size_t weight(const FunctionJob& job) {
  std::size_t count = 1;
  for_each_instruction(job.kernel->body, [&](const Instruction&) { ++count; });
  return count;
}

constexpr std::size_t kModuleInstructions =
    2000;  ///< of one module in a large program: some 100 ms
constexpr std::size_t kMostInstructions =
    50'000;  ///< of one kernel: LLVM would take minutes, and does not ask on the way

tl::unexpected<Diagnostic> too_large(const FunctionJob& job) {
  return failure(Code::PS0709, "compiling it takes a kernel of more than " +
                                   std::to_string(kMostInstructions) +
                                   " instructions; stopped at kernel " + job.kernel->name);
}

/// Spreads jobs over `count` lists: the heaviest first, each to the lightest list, order kept.
std::vector<std::vector<FunctionJob>> spread(const std::vector<FunctionJob>& jobs,
                                             const std::vector<std::size_t>& weights, int count) {
  std::vector<std::size_t> order(jobs.size()), place(jobs.size());
  std::priority_queue<std::pair<std::size_t, int>, std::vector<std::pair<std::size_t, int>>,
                      std::greater<>>
      lightest;
  for (int list = 0; list < count; ++list) lightest.emplace(0, list);
  for (std::size_t i = 0; i < jobs.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t job) { return weights[job]; });
  for (std::size_t job : order) {
    const auto [load, list] = lightest.top();
    lightest.pop();
    place[job] = static_cast<std::size_t>(list);
    lightest.emplace(load + weights[job], list);
  }
  std::vector<std::vector<FunctionJob>> lists(count);
  for (std::size_t i = 0; i < jobs.size(); ++i) lists[place[i]].push_back(jobs[i]);
  return lists;
}

}  // namespace

Result<std::vector<std::string>> compile_objects(const std::vector<FunctionJob>& jobs,
                                                 const CompileContext& context, int threads) {
  int available = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  // A module has a fixed cost of about a fifth of a kernel: small programs stay in one for each
  // thread. Between modules the budget is asked, so that large programs are more modules than
  // threads.
  std::size_t all = 0;
  std::vector<std::size_t> weights;
  for (const FunctionJob& job : jobs) {
    weights.push_back(weight(job));
    if (weights.back() > kMostInstructions) return too_large(job);
    all += weights.back();
  }
  int used = std::clamp<int>(static_cast<int>(jobs.size() / 2), 1, std::max(available, 1));
  int count = std::max(used, static_cast<int>(std::min(all / kModuleInstructions, jobs.size())));
  auto lists = spread(jobs, weights, count);
  std::vector<Result<std::string>> objects(count, std::string());
  std::atomic<int> next = 0;
  auto work = [&] {
    for (int i = next++; i < count; i = next++)
      objects[i] = compile_module(lists[i], context, i == 0, CodeText::object);
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < used; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  std::vector<std::string> bytes;
  for (auto& object : objects) {
    if (!object) return tl::unexpected(object.error());
    bytes.push_back(std::move(*object));
  }
  return bytes;
}

Result<std::string> compile_text(const std::vector<FunctionJob>& jobs,
                                 const CompileContext& context, CodeText text) {
  return compile_module(jobs, context, true, text);
}

}  // namespace penstock::codegen
