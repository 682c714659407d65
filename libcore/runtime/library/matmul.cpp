// Matrix products. A batch in front of the rows of `a` joins them where the strides allow and `b`
// has none, so that a Linear on any rank is one product of two matrices with a packed weight. What
// oneDNN reads badly (neither of the last two dims has stride 1, or the same element several times)
// is copied first.
#include <algorithm>
#include <optional>

#include "runtime/library/onednn.h"
#include "runtime/library/operand_layouts.h"
#include "runtime/library/thread_limit.h"
#include "runtime/library/weight.h"

namespace penstock::runtime {

using dnnl::memory;

namespace {

/// The operands in the dims of the primitive.
struct Problem {
  Operand a, b, out;
  std::vector<Operand> post_ops;
};

/// Gives an operand the rank of the result, ones in front, and drops strides of what is repeated.
Operand with_rank(Operand operand, std::size_t rank, bool keep_last_two) {
  std::size_t missing = rank - operand.sizes.size();
  operand.sizes.insert(operand.sizes.begin(), missing, 1);
  operand.strides.insert(operand.strides.begin(), missing, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    bool repeated = operand.strides[i] == 0 && operand.sizes[i] > 1;
    if (repeated && (i + 2 < rank || !keep_last_two)) operand.sizes[i] = 1;
  }
  // A dim of one element may have any stride; oneDNN wants a sensible one.
  std::int64_t next = 1;
  for (std::size_t i = rank; i-- > 0;) {
    if (operand.sizes[i] == 1) operand.strides[i] = next;
    next = std::max(next, operand.strides[i] * operand.sizes[i]);
  }
  return operand;
}

/// Whether the dims before the last may be one dim. Those of one element have no say.
bool rows_join(const Operand& operand) {
  std::optional<std::int64_t> reach;  // of the dims behind
  for (std::size_t i = operand.sizes.size() - 1; i-- > 0;) {
    if (operand.sizes[i] == 1) continue;
    if (reach && operand.strides[i] != *reach) return false;
    reach = operand.sizes[i] * operand.strides[i];
  }
  return true;
}

Operand join_rows(const Operand& operand) {
  std::size_t rank = operand.sizes.size();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < rank; ++i) rows *= operand.sizes[i];
  // The innermost dim of more than one element gives the step from row to row.
  std::int64_t stride = operand.strides[rank - 2];
  for (std::size_t i = rank - 1; i-- > 0;) {
    if (operand.sizes[i] == 1) continue;
    stride = operand.strides[i];
    break;
  }
  return {operand.dtype, {rows, operand.sizes[rank - 1]}, {stride, operand.strides[rank - 1]}};
}

std::int64_t batch_of(const Operand& operand) {
  std::int64_t batch = 1;
  for (std::size_t i = 0; i + 2 < operand.sizes.size(); ++i) batch *= operand.sizes[i];
  return batch;
}

/// A row vector, or a full matrix, which joins as the result does.
bool joins_with_result(const Operand& operand, const Operand& out) {
  if (operand.sizes == out.sizes) return rows_join(operand);
  for (std::size_t i = 0; i + 1 < operand.sizes.size(); ++i) {
    if (operand.sizes[i] != 1) return false;
  }
  return true;
}

/// A row or a column may be stepped over in any way: as the other dim of the matrix lets it be
/// read.
Operand with_dense_dim(Operand operand) {
  const std::size_t rank = operand.sizes.size();
  std::int64_t &row = operand.strides[rank - 2], &column = operand.strides[rank - 1];
  const std::int64_t rows = operand.sizes[rank - 2], columns = operand.sizes[rank - 1];
  if (columns == 1) column = 1;
  if (columns == 1) row = rows == 1 ? 1 : row;
  if (rows == 1) row = column == 1 ? columns : 1;
  return operand;
}

Problem with_dense_dims(Problem problem) {
  for (Operand* matrix : {&problem.a, &problem.b, &problem.out}) *matrix = with_dense_dim(*matrix);
  return problem;
}

Problem simplify(Problem problem) {
  std::size_t rank = problem.out.sizes.size();
  problem.a = with_rank(problem.a, rank, true);
  problem.b = with_rank(problem.b, rank, true);
  problem.out = with_rank(problem.out, rank, true);
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    // Both operands repeated: one of them has to have the batch, in a copy.
    if (problem.a.sizes[i] != 1 || problem.b.sizes[i] != 1 || problem.out.sizes[i] == 1) continue;
    problem.a.sizes[i] = problem.out.sizes[i];
    problem.a.strides[i] = 0;
  }
  bool join = rank > 2 && batch_of(problem.b) == 1 && rows_join(problem.a) &&
              rows_join(problem.out) &&
              problem.a.sizes[rank - 2] * batch_of(problem.a) ==
                  problem.out.sizes[rank - 2] * batch_of(problem.out);
  for (Operand& operand : problem.post_ops) {
    operand = with_rank(operand, rank, false);
    join = join && joins_with_result(operand, problem.out);
  }
  if (!join) return with_dense_dims(std::move(problem));
  for (Operand& operand : problem.post_ops) {
    if (operand.sizes == problem.out.sizes) {
      operand = join_rows(operand);
    } else {
      operand = {operand.dtype,
                 {1, operand.sizes[rank - 1]},
                 {operand.sizes[rank - 1], operand.strides[rank - 1]}};
    }
  }
  problem.a = join_rows(problem.a);
  problem.b = {problem.b.dtype,
               {problem.b.sizes[rank - 2], problem.b.sizes[rank - 1]},
               {problem.b.strides[rank - 2], problem.b.strides[rank - 1]}};
  problem.out = join_rows(problem.out);
  return with_dense_dims(std::move(problem));
}

bool repeats_batches(const Operand& operand) {
  for (std::size_t i = 0; i + 2 < operand.sizes.size(); ++i) {
    if (operand.strides[i] == 0 && operand.sizes[i] > 1) return true;
  }
  return false;
}

bool has_dense_rows(const Operand& operand) {
  const std::size_t rank = operand.sizes.size();
  return operand.strides[rank - 1] == 1 && operand.strides[rank - 2] >= operand.sizes[rank - 1];
}

/// Whether oneDNN's fast kernels read it in place: one of the last two dims is dense, the other
/// steps over at least as much.
bool readable(const Operand& operand) {
  const std::size_t rank = operand.sizes.size();
  const bool dense_columns =
      operand.strides[rank - 2] == 1 && operand.strides[rank - 1] >= operand.sizes[rank - 2];
  return !repeats_batches(operand) && (has_dense_rows(operand) || dense_columns);
}

/// Whether they write it in place.
bool writable(const Operand& operand) {
  return !repeats_batches(operand) && has_dense_rows(operand);
}

/// How it lies in memory, to a kernel that is told the sizes and steps when it runs: `rows` alone,
/// or all but those of batches.
memory::desc of_any_size(const Operand& operand, bool rows) {
  const std::size_t rank = operand.sizes.size();
  std::vector<std::int64_t> sizes = operand.sizes, strides = operand.strides;
  sizes[rank - 2] = DNNL_RUNTIME_DIM_VAL;
  if (!rows) sizes[rank - 1] = DNNL_RUNTIME_DIM_VAL;
  const std::size_t dense = strides[rank - 1] == 1 ? rank - 1 : rank - 2;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != dense) strides[i] = DNNL_RUNTIME_DIM_VAL;
  }
  return {sizes, data_type(operand.dtype), strides};
}

double operations(const Problem& problem) {
  double count = 2 * static_cast<double>(problem.a.sizes.back());
  for (const std::int64_t size : problem.out.sizes) count *= static_cast<double>(size);
  return count;
}

class Matmul : public LibraryKernel {
 public:
  Matmul(std::shared_ptr<OneDnn> library, const LibraryCall& call, const Problem& problem,
         const Operand* bias, bool any_size)
      : library_(std::move(library)), alone_(operations(problem) <= kAlone) {
    const ThreadLimit limit(alone_);
    OneDnn& shared = *library_;
    // A repeated element or a far step: copied into rows first.
    memory::desc a = describe(problem.a), out = describe(problem.out);
    const Operand a_place = readable(problem.a) ? problem.a : dense(problem.a);
    const Operand b_place = readable(problem.b) ? problem.b : dense(problem.b);
    memory::desc a_read = describe(a_place);
    // Post-ops find the elements of their operands by counting those of a dense result.
    const bool counted = !problem.post_ops.empty() && !lies_so(problem.out, dense(problem.out));
    const Operand written = writable(problem.out) && !counted ? problem.out : dense(problem.out);
    memory::desc out_written = describe(written);
    copy_a_ = Relayout(shared, a, a_read);
    copy_out_ = Relayout(shared, out_written, out);
    const bool sums = std::ranges::any_of(
        call.post_ops, [](const PostOp& op) { return op.kind == PostOp::Kind::sum; });
    if (sums) fetch_out_ = Relayout(shared, out, out_written);
    a_bytes_ = copy_a_.needed() ? Relayout::bytes(a_read) : 0;
    out_bytes_ = copy_out_.needed() ? Relayout::bytes(out_written) : 0;
    bool pack = !call.prepack.empty() && problem.b.sizes.size() == 2;
    memory::desc b = describe(problem.b), b_read = describe(b_place);
    addends_ = PostOpOperands(shared, problem.post_ops, written);
    bias_ = bias == nullptr ? memory::desc() : describe_bias(*bias, written.sizes.size());
    has_bias_ = bias != nullptr;
    if (any_size) {
      make_primitive(call, of_any_size(a_place, has_bias_),
                     has_bias_ ? b_read : of_any_size(b_place, false),
                     of_any_size(written, has_bias_));
    } else {
      const memory::desc b_any(problem.b.sizes, data_type(problem.b.dtype),
                               memory::format_tag::any);
      make_primitive(call, a_read, pack ? b_any : b_read, out_written);
      b_read = chosen_.weights_desc();
    }
    weight_ = Weight(shared, b, b_read);
    version_counts_ = pack;
    add_arguments(a_read, b_read, out_written);
  }

  std::size_t scratch_bytes() const override {
    return a_bytes_ + out_bytes_ + addends_.scratch_bytes() + weight_.scratch_bytes() + own_bytes_;
  }
  std::string_view implementation() const override { return name_; }
  bool is_alone() const override { return alone_; }

  Result<void> run(const LibraryMemory& given) override {
    const ThreadLimit limit(alone_);
    OneDnn& shared = *library_;
    char* scratch = static_cast<char*>(given.scratch);
    void* a = given.inputs[0];
    void* out = given.outputs[0];
    arguments_.set(scratch_place_, scratch);
    scratch += own_bytes_;
    if (copy_a_.needed()) {
      copy_a_.run(shared, a, scratch);
      a = scratch;
      scratch += a_bytes_;
    }
    void* target = copy_out_.needed() ? scratch : out;
    scratch += out_bytes_;
    addends_.set(shared, given.post_ops, scratch, arguments_);
    scratch += addends_.scratch_bytes();
    arguments_.set(0, a);
    auto weight = weight_.prepare(shared, weight_contents(given, version_counts_), {}, scratch);
    if (!weight) return tl::unexpected(std::move(weight.error()));
    arguments_.set(1, *weight);
    arguments_.set(2, target);
    if (has_bias_) arguments_.set(3, given.inputs[2]);
    if (fetch_out_.needed()) fetch_out_.run(shared, out, target);
    if (auto ran = primitive_.run(shared, arguments_); !ran) return ran;
    if (copy_out_.needed()) copy_out_.run(shared, target, out);
    return {};
  }

 private:
  static memory::desc describe_bias(const Operand& bias, std::size_t rank) {
    std::vector<std::int64_t> sizes(rank, 1), strides(rank, bias.sizes.back());
    sizes.back() = bias.sizes.back();
    strides.back() = 1;
    return describe(bias.dtype, sizes, strides);
  }

  void make_primitive(const LibraryCall& call, const memory::desc& a, const memory::desc& b,
                      const memory::desc& out) {
    auto post_ops = make_post_ops(call, addends_.descriptions());
    post_op_kinds_ = post_ops->argument_kinds;
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(post_ops->ops);
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto desc =
        has_bias_ ? dnnl::matmul::desc(a, b, bias_, out) : dnnl::matmul::desc(a, b, out);
    chosen_ = {desc, attributes, library_->engine};
    primitive_ = Primitive(std::type_identity<dnnl::matmul>(), chosen_);
    own_bytes_ = Relayout::bytes(chosen_.scratchpad_desc());
    name_ = chosen_.impl_info_str();
  }

  void add_arguments(const memory::desc& a, const memory::desc& b, const memory::desc& out) {
    OneDnn& shared = *library_;
    arguments_.add(shared, DNNL_ARG_SRC, a);
    arguments_.add(shared, DNNL_ARG_WEIGHTS, b);
    arguments_.add(shared, DNNL_ARG_DST, out);
    if (has_bias_) arguments_.add(shared, DNNL_ARG_BIAS, bias_);
    scratch_place_ = arguments_.add(shared, DNNL_ARG_SCRATCHPAD, chosen_.scratchpad_desc());
    addends_.add_arguments(shared, post_op_kinds_, arguments_);
  }

  std::shared_ptr<OneDnn> library_;
  bool alone_;  ///< small enough for one thread
  Relayout copy_a_, copy_out_, fetch_out_;
  std::size_t own_bytes_ = 0, a_bytes_ = 0, out_bytes_ = 0, scratch_place_ = 0;
  memory::desc bias_;
  dnnl::matmul::primitive_desc chosen_;
  Primitive primitive_;
  Weight weight_;
  bool version_counts_ = false, has_bias_ = false;
  PostOpOperands addends_;
  std::vector<int> post_op_kinds_;
  Arguments arguments_;
  std::string name_;
};

/// A sum over nothing: zeros, or the bias. oneDNN refuses it.
class EmptySum : public LibraryKernel {
 public:
  EmptySum(const LibraryOperands& operands, bool has_bias)
      : bias_(has_bias ? operands.inputs[2] : Operand{operands.outputs[0].dtype, {}, {}}),
        out_(operands.outputs[0]),
        has_bias_(has_bias) {}

  std::size_t scratch_bytes() const override { return 0; }
  std::string_view implementation() const override { return "empty sum"; }
  Result<void> run(const LibraryMemory& memory) override {
    const float zero = 0;
    copy_elements(bias_, has_bias_ ? memory.inputs[2] : &zero, out_, memory.outputs[0]);
    return {};
  }

 private:
  Operand bias_, out_;
  bool has_bias_;
};

}  // namespace

Result<std::unique_ptr<LibraryKernel>> make_matmul(std::shared_ptr<OneDnn> library,
                                                   const LibraryCall& call,
                                                   const LibraryOperands& operands) {
  Problem problem{operands.inputs[0], operands.inputs[1], operands.outputs[0], operands.post_ops};
  bool bias = operands.present.size() > 2 && operands.present[2];
  if (problem.a.sizes.back() == 0) return std::make_unique<EmptySum>(operands, bias);
  problem = simplify(std::move(problem));
  return std::make_unique<Matmul>(std::move(library), call, problem,
                                  bias ? &operands.inputs[2] : nullptr, operands.varying);
}

}  // namespace penstock::runtime
