#include "runtime/library/onednn.h"

#include <algorithm>
#include <utility>

#include "runtime/library/operand_layouts.h"

namespace penstock::runtime {

using dnnl::memory;

std::size_t Arguments::add(OneDnn& library, int kind, const memory::desc& desc, void* data) {
  memories_.emplace_back(desc, library.engine, data);
  arguments_.push_back({kind, memories_.back().get()});
  return memories_.size() - 1;
}

void Arguments::set(std::size_t place, void* data) {
  memories_[place].set_data_handle(data);
}

void Arguments::execute(const dnnl::primitive& primitive, const dnnl::stream& stream) const {
  dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments_.size()),
                         arguments_.data());
}

Result<void> Primitive::run(const OneDnn& library, const Arguments& arguments) {
  if (make_) {
    try {
      made_ = make_();
    } catch (const dnnl::error& error) {
      return failure(Code::PS0708, std::string("oneDNN: ") + error.what());
    }
    make_ = nullptr;
  }
  arguments.execute(made_, library.stream);
  return {};
}

memory::data_type data_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return memory::data_type::f32;
    case DType::bfloat16:
      return memory::data_type::bf16;
    default:
      return memory::data_type::undef;
  }
}

memory::desc describe(DType dtype, const std::vector<std::int64_t>& sizes,
                      const std::vector<std::int64_t>& strides) {
  return memory::desc(sizes, data_type(dtype), strides);
}

memory::desc describe(const Operand& operand) {
  return describe(operand.dtype, operand.sizes, operand.strides);
}

Result<PostOps> make_post_ops(const LibraryCall& call, const std::vector<memory::desc>& operands) {
  using dnnl::algorithm;
  PostOps made;
  std::size_t next = 0;
  auto eltwise = [&](algorithm kind, double alpha = 0, double beta = 0) {
    append_eltwise(made.ops, kind, static_cast<float>(alpha), static_cast<float>(beta));
  };
  auto binary = [&](algorithm kind) {
    made.argument_kinds.push_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(made.ops.len()) | DNNL_ARG_SRC_1);
    made.ops.append_binary(kind, operands[next++]);
  };
  for (const PostOp& op : call.post_ops) {
    switch (op.kind) {
      case PostOp::Kind::relu:
        eltwise(algorithm::eltwise_relu);
        break;
      case PostOp::Kind::gelu_erf:
        eltwise(algorithm::eltwise_gelu_erf);
        break;
      case PostOp::Kind::gelu_tanh:
        eltwise(algorithm::eltwise_gelu_tanh);
        break;
      case PostOp::Kind::silu:
        eltwise(algorithm::eltwise_swish, 1);
        break;
      case PostOp::Kind::hardswish:
        eltwise(algorithm::eltwise_hardswish, 1.0 / 6, 0.5);  // 2 knows no others
        break;
      case PostOp::Kind::hardsigmoid:
        eltwise(algorithm::eltwise_linear, 1.0 / 6, 0.5);
        eltwise(algorithm::eltwise_clip_v2, 0, 1);
        break;
      case PostOp::Kind::sigmoid:
        eltwise(algorithm::eltwise_logistic);
        break;
      case PostOp::Kind::tanh:
        eltwise(algorithm::eltwise_tanh);
        break;
      case PostOp::Kind::clamp:
        eltwise(algorithm::eltwise_clip_v2, op.alpha, op.beta);
        break;
      case PostOp::Kind::scale:
        eltwise(algorithm::eltwise_linear, op.alpha);
        break;
      case PostOp::Kind::add:
        binary(algorithm::binary_add);
        break;
      case PostOp::Kind::mul:
        binary(algorithm::binary_mul);
        break;
      case PostOp::Kind::sum:
        made.ops.append_sum(1.0f);
        break;
    }
  }
  return made;
}

namespace {

const Argument* attribute(const LibraryCall& call, std::string_view name) {
  for (const NamedArgument& argument : call.attributes) {
    if (argument.name == name) return &argument.value;
  }
  return nullptr;
}

}  // namespace

std::vector<std::int64_t> int_list(const LibraryCall& call, std::string_view name) {
  std::vector<std::int64_t> values;
  const Argument* argument = attribute(call, name);
  if (argument == nullptr) return values;
  if (auto* list = argument->as<Argument::Sequence>()) {
    for (const Argument& item : list->items) {
      if (auto* value = item.as<std::int64_t>()) values.push_back(*value);
    }
  }
  return values;
}

bool flag(const LibraryCall& call, std::string_view name) {
  const Argument* argument = attribute(call, name);
  auto* value = argument == nullptr ? nullptr : argument->as<bool>();
  return value != nullptr && *value;
}

std::int64_t integer(const LibraryCall& call, std::string_view name, std::int64_t missing) {
  const Argument* argument = attribute(call, name);
  auto* value = argument == nullptr ? nullptr : argument->as<std::int64_t>();
  return value == nullptr ? missing : *value;
}

std::size_t bytes_of(const Operand& operand) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
    if (operand.sizes[i] == 0) return 0;
    last += (operand.sizes[i] - 1) * operand.strides[i];
  }
  return static_cast<std::size_t>(last + 1) * static_cast<std::size_t>(facts(operand.dtype).size);
}

Relayout::Relayout(OneDnn& library, memory::desc from, memory::desc to) : needed_(from != to) {
  if (!needed_) return;
  reorder_ = dnnl::reorder({library.engine, from, library.engine, to});
  arguments_.add(library, DNNL_ARG_FROM, from);
  arguments_.add(library, DNNL_ARG_TO, to);
}

void Relayout::run(OneDnn& library, void* from, void* to) {
  arguments_.set(0, from);
  arguments_.set(1, to);
  arguments_.execute(reorder_, library.stream);
}

PostOpOperands::PostOpOperands(OneDnn& library, const std::vector<Operand>& operands,
                               const Operand& written) {
  for (const Operand& operand : operands) {
    Operand read = operand;
    if (operand.sizes == written.sizes) read.strides = written.strides;
    descriptions_.push_back(describe(read));
    copies_.push_back(lies_so(operand, read)
                          ? Relayout()
                          : Relayout(library, describe(operand), descriptions_.back()));
  }
}

std::size_t PostOpOperands::scratch_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (copies_[i].needed()) bytes += Relayout::bytes(descriptions_[i]);
  }
  return bytes;
}

void PostOpOperands::add_arguments(OneDnn& library, const std::vector<int>& kinds,
                                   Arguments& arguments) {
  for (std::size_t i = 0; i < kinds.size(); ++i)
    places_.push_back(arguments.add(library, kinds[i], descriptions_[i]));
}

void PostOpOperands::set(OneDnn& library, std::span<void* const> given, char* scratch,
                         Arguments& arguments) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    void* operand = given[i];
    if (copies_[i].needed()) {
      copies_[i].run(library, operand, scratch);
      operand = std::exchange(scratch, scratch + Relayout::bytes(descriptions_[i]));
    }
    arguments.set(places_[i], operand);
  }
}

namespace {

/// Of a result without elements there is nothing to compute; oneDNN's kernels divide by its sizes.
class NothingToDo : public LibraryKernel {
 public:
  std::size_t scratch_bytes() const override { return 0; }
  std::string_view implementation() const override { return "empty"; }
  bool is_alone() const override { return true; }
  Result<void> run(const LibraryMemory&) override { return {}; }
};

/// Picks the kernel by name and turns oneDNN's exceptions into diagnostics.
class OneDnnLibrary : public Library {
 public:
  OneDnnLibrary(bool deterministic, std::shared_ptr<PackedStore> packed)
      : deterministic_(deterministic) {
    shared_->store = std::move(packed);
    shared_->deterministic = deterministic;
  }

  Result<std::unique_ptr<LibraryKernel>> make(const LibraryCall& call,
                                              const LibraryOperands& operands) override {
    const Operand& out = operands.outputs.front();
    if (std::ranges::find(out.sizes, 0) != out.sizes.end()) return std::make_unique<NothingToDo>();
    if (is_double_product(call, operands)) return make_double_matmul(call, operands);
    if (is_row_product(call, operands)) return make_row_matmul(call, operands);
    if (call.name == "sort" || call.name == "topk") return make_sorting(call, operands);
    if (!supports_dtypes(operands)) {
      return failure(Code::PS0708, call.name + " of " + call.op +
                                       ": there are kernels of float32 and bfloat16 "
                                       "only, of float64 for products");
    }
    auto kernel = make_onednn(shared_, deterministic_, call, operands);
    if (!kernel || !loses_nan(call)) return kernel;
    LibraryCall plain = call;
    plain.post_ops.clear();
    LibraryOperands plain_operands = operands;
    plain_operands.post_ops.clear();
    auto make_plain = [shared = shared_, deterministic = deterministic_, plain = std::move(plain),
                       plain_operands = std::move(plain_operands)] {
      return make_onednn(shared, deterministic, plain, plain_operands);
    };
    return keep_nan(std::move(*kernel), call, operands, std::move(make_plain));
  }

 private:
  static Result<std::unique_ptr<LibraryKernel>> make_onednn(const std::shared_ptr<OneDnn>& shared,
                                                            bool deterministic,
                                                            const LibraryCall& call,
                                                            const LibraryOperands& operands) {
    const MakeCall make = [&](const LibraryCall& part, const LibraryOperands& read) {
      LibraryOperands own = read;
      own.varying = read.varying && !deterministic;  // the same bits, however often it was called
      const auto kernel = [&] { return make_kernel(shared, part, own); };
      return deterministic ? make_deterministic(own, kernel) : kernel();
    };
    try {
      return make_readable(call, operands, make);
    } catch (const dnnl::error& error) {
      return failure(Code::PS0708, call.name + " of " + call.op + ": oneDNN: " + error.what());
    }
  }

  static Result<std::unique_ptr<LibraryKernel>> make_kernel(const std::shared_ptr<OneDnn>& shared,
                                                            const LibraryCall& call,
                                                            const LibraryOperands& operands) {
    const MakeCall make = [&](const LibraryCall& part, const LibraryOperands& own) {
      return make_kernel(shared, part, own);
    };
    if (must_widen(operands)) return make_widened(call, operands, make);
    if (is_weight_gradient(call, operands)) {
      try {
        return make_weight_gradient(shared, call, operands);
      } catch (const dnnl::error&) {  // it is a convolution like others, then
      }
    }
    if (must_pad(call, operands)) return make_padded(call, operands, make);
    if (call.name == "matmul") {
      const MakeCall make_product = [shared](const LibraryCall& one, const LibraryOperands& own) {
        return make_tailed(one, own, [shared](const auto& head, const auto& parts) {
          return make_matmul(shared, head, parts);
        });
      };
      if (operands.varying) return make_varying(call, operands, make_product, make_product);
      return make_product(call, operands);
    }
    if (call.name == "convolution") {
      return make_tailed(call, operands, [&](const auto& head, const auto& own) {
        return make_convolution(shared, head, own);
      });
    }
    if (call.name == "pool_max" || call.name == "pool_avg")
      return make_pooling(shared, call, operands);
    return failure(Code::PS0708, "no library call '" + call.name + "'");
  }

  static bool is_double_product(const LibraryCall& call, const LibraryOperands& operands) {
    return call.name == "matmul" && operands.outputs.front().dtype == DType::float64;
  }

  static bool supports_dtypes(const LibraryOperands& operands) {
    auto supported = [](const Operand& operand) {
      return data_type(operand.dtype) != memory::data_type::undef;
    };
    for (std::size_t i = 0; i < operands.inputs.size(); ++i) {
      if (operands.present[i] && !supported(operands.inputs[i])) return false;
    }
    return supported(operands.outputs.front());
  }

  bool deterministic_;
  std::shared_ptr<OneDnn> shared_ = std::make_shared<OneDnn>();
};

}  // namespace

}  // namespace penstock::runtime

extern "C" __attribute__((visibility("default"))) penstock::runtime::Library* penstock_make_library(
    bool deterministic, std::shared_ptr<penstock::runtime::PackedStore> packed) {
  return new penstock::runtime::OneDnnLibrary(deterministic, std::move(packed));
}
