#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "bundle/kernel_abi.h"
#include "codegen/codegen.h"

namespace penstock::codegen {

inline Instruction load(ScalarId result, BufferId buffer, SymExpr index, DType dtype) {
  Instruction i;
  i.op = "load";
  i.result = result;
  i.buffer = buffer;
  i.index = std::move(index);
  i.dtype = dtype;
  return i;
}
inline Instruction store(BufferId buffer, SymExpr index, ScalarId value, DType dtype) {
  Instruction i;
  i.op = "store";
  i.buffer = buffer;
  i.index = std::move(index);
  i.dtype = dtype;
  i.operands = {value};
  return i;
}
inline Instruction op(std::string name, ScalarId result, std::vector<ScalarId> operands,
                      DType dtype) {
  Instruction i;
  i.op = std::move(name);
  i.result = result;
  i.operands = std::move(operands);
  i.dtype = dtype;
  return i;
}
inline Instruction constant(ScalarId result, Argument value, DType dtype) {
  Instruction i;
  i.op = "constant";
  i.result = result;
  i.immediate = std::move(value);
  i.dtype = dtype;
  return i;
}
inline Instruction index_value(ScalarId result, SymExpr index, DType dtype) {
  Instruction i;
  i.op = "index";
  i.result = result;
  i.index = std::move(index);
  i.dtype = dtype;
  return i;
}
inline SymExpr sym(const char* name) {
  return SymExpr::symbol(name);
}

inline Statement nest(Loop loop) {
  return std::vector<Loop>{std::move(loop)};
}

/// A program of one kernel whose buffers are inputs.
inline LoopProgram program_of(LoopKernel kernel, const std::vector<DType>& buffers,
                              const std::vector<std::string>& symbols = {}) {
  LoopProgram program;
  for (const std::string& name : symbols) {
    Symbol symbol;
    symbol.name = name;
    program.interface.symbols.push_back(symbol);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(i);
    buffer.kind = Buffer::Kind::input;
    buffer.index = static_cast<std::int32_t>(i);
    buffer.dtype = buffers[i];
    program.buffers.push_back(buffer);
  }
  program.steps.push_back(std::move(kernel));
  return program;
}

/// Keeps code in files of its own and forgets nothing.
class FileSink : public CodeSink {
 public:
  std::optional<std::string> find(std::string_view) override { return std::nullopt; }
  Result<std::string> put(std::string_view, std::string_view elf) override {
    char path[] = "/tmp/penstock-test-XXXXXX";
    close(mkstemp(path));
    std::ofstream(path, std::ios::binary)
        .write(elf.data(), static_cast<std::streamsize>(elf.size()));
    paths.push_back(path);
    return std::string(path);
  }
  ~FileSink() override {
    for (const std::string& path : paths) unlink(path.c_str());
  }
  std::vector<std::string> paths;
};

/// The compiled first kernel of a program, ready to call.
class Compiled {
 public:
  explicit Compiled(const LoopProgram& program, int lanes = 0, const std::string& cpu = "host") {
    CodegenOptions options;
    options.lanes = lanes;
    options.cpus = {cpu};
    auto bundle = generate(program, options, sink_);
    REQUIRE_MESSAGE(bundle.has_value(), bundle.error().message);
    call_ = std::get<KernelCall>(bundle->steps.at(0));
    handle_ = dlopen(bundle->code.at(0).blob.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(handle_ != nullptr, dlerror());
    function_ = reinterpret_cast<penstock_kernel>(dlsym(handle_, call_.function.c_str()));
    REQUIRE((function_ != nullptr));
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  /// `memory` by buffer of the program.
  void operator()(const std::vector<void*>& memory, std::int64_t extent = 1,
                  const std::vector<std::int64_t>& symbols = {}) const {
    std::vector<void*> pointers;
    for (BufferId buffer : call_.buffers) pointers.push_back(memory[buffer]);
    void* scratch = std::aligned_alloc(64, (call_.scratch_bytes + 127) / 64 * 64);
    function_(pointers.data(), symbols.data(), 0, call_.parallel ? extent : 1, scratch);
    std::free(scratch);
  }
  const KernelCall& call() const { return call_; }

 private:
  FileSink sink_;
  KernelCall call_;
  void* handle_ = nullptr;
  penstock_kernel function_ = nullptr;
};

/// result[i] = op(operand 0[i], operand 1[i] …) over `s0` elements; the last buffer is the result.
inline LoopProgram pointwise(const std::string& name, const std::vector<DType>& operands,
                             DType result, int unroll = 2) {
  Loop loop;
  loop.variable = "i0";
  loop.extent = sym("s0");
  loop.schedule.parallel = true;
  loop.schedule.vectorize = true;
  loop.schedule.unroll = unroll;
  std::vector<ScalarId> ids;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    ids.push_back(static_cast<ScalarId>(i));
    loop.body.push_back(load(ids.back(), static_cast<BufferId>(i), sym("i0"), operands[i]));
  }
  auto value = static_cast<ScalarId>(operands.size());
  loop.body.push_back(op(name, value, ids, result));
  loop.body.push_back(store(static_cast<BufferId>(operands.size()), sym("i0"), value, result));
  LoopKernel kernel;
  kernel.name = "k0_" + name;
  kernel.body.push_back(nest(loop));
  auto buffers = operands;
  buffers.push_back(result);
  return program_of(std::move(kernel), buffers, {"s0"});
}

}  // namespace penstock::codegen
