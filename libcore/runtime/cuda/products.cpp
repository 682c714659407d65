// Products by cuBLASLt
//
// The library's matrices lie column by column. A result whose rows lie one behind the other is to
// it the transposed one: out = a b is computed as out^T = b^T a^T, with the bias, one number a
// column of out, as one a row of out^T. Where the result itself lies column by column, the factors
// stay where they are, and there is no bias.
//
// A matrix is read along whichever of its dims has stride 1, by the library's transposing flag; one
// with neither is refused (fusion leaves such products to torch). Batches have any number of dims:
// the longest is the library's, the others are calls one after the other.
//
// How a product is computed the library's heuristic says, which is asked once for each alignment of
// the operands: the first choice that works is kept, and with it nothing is searched or loaded in
// later runs, so that they can be recorded as a graph.
//
// A result whose rows begin at multiples of 16 bytes, but are not such a multiple long, takes the
// library several times as long as the multiple below; that is one call then, and the rest another.
// (H100, bfloat16, 512 times 768 by 768 times 50257: 417 us.) fusion gives odd rows such places.
#include "runtime/cuda/products.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/device_epilogue.h"
#include "runtime/cuda/cublaslt.h"

namespace penstock::runtime::cuda {

namespace {

// cublasLt.h, cublas_api.h, library_types.h:
enum : int { kFloat32 = 0, kFloat16 = 2, kBfloat16 = 14 };  // CUDA_R_…
enum : int { kComputeFloat32 = 68, kComputeTf32 = 77 };     // CUBLAS_COMPUTE_32F, …_FAST_TF32
enum : int { kTransA = 3, kTransB = 4, kEpilogue = 7, kBias = 8 };  // CUBLASLT_MATMUL_DESC_…
enum : std::uint32_t { kPlain = 1, kRelu = 2, kWithBias = 4, kGelu = 32 };  // CUBLASLT_EPILOGUE_…
enum : int { kBatchCount = 5, kBatchStride = 6 };  // CUBLASLT_MATRIX_LAYOUT_…
// CUBLASLT_MATMUL_PREF_…; sums are joined in place or in float32, never in the result's dtype.
enum : int { kMostWorkspace = 1, kReductions = 3, kAlignmentOfA = 5 };
constexpr std::uint32_t kExactReductions = 3;
constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr std::size_t kVectorBytes = 16, kMostAlignment = 256;

Result<void> checked(int status, const char* what) {
  if (status == 0) return {};
  return failure(Code::PS0811,
                 std::string(what) + " by cuBLASLt: status " + std::to_string(status));
}

/// A matrix of a product as the library is told of it, and how far apart those of a batch lie.
struct Matrix {
  std::int64_t rows = 0, columns = 0, leading = 0;  ///< as it lies, column by column
  bool transposed = false;
  std::vector<std::int64_t> batch;  ///< strides
};

/// A matrix of so many rows and columns, and the strides along them; one that is written is never
/// transposed. Nothing: the library takes none like it.
std::optional<Matrix> matrix(std::int64_t rows, std::int64_t columns, std::int64_t down,
                             std::int64_t across, bool written) {
  const bool along_rows = !written && across == 1 && (down != 1 || rows == 1);
  const bool plain = !along_rows && (down == 1 || rows == 1);
  if (!plain && (written || (across != 1 && columns != 1))) return std::nullopt;
  Matrix made{rows, columns, across, !plain, {}};
  if (!plain) made = {columns, rows, down, true, {}};
  if (made.columns == 1) made.leading = made.rows;
  return made.leading >= made.rows ? std::optional(made) : std::nullopt;
}

/// What the library keeps for a call: descriptors of it.
class Handle {
 public:
  Handle(void* descriptor, int (*destroy)(void*)) : descriptor_(descriptor), destroy_(destroy) {}
  Handle(Handle&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, nullptr)), destroy_(other.destroy_) {}
  ~Handle() {
    if (descriptor_ != nullptr) destroy_(descriptor_);
  }
  void* get() const { return descriptor_; }

 private:
  void* descriptor_;
  int (*destroy_)(void*);
};

Result<Handle> layout(const Matrix& matrix, int type, std::int32_t count, std::int64_t stride) {
  void* made = nullptr;
  auto done =
      checked(cublaslt().make_layout(&made, type, static_cast<std::uint64_t>(matrix.rows),
                                     static_cast<std::uint64_t>(matrix.columns), matrix.leading),
              "a matrix");
  if (!done) return tl::unexpected(std::move(done.error()));
  Handle handle(made, cublaslt().destroy_layout);
  if (count > 1) {
    cublaslt().set_layout(made, kBatchCount, &count, sizeof count);
    cublaslt().set_layout(made, kBatchStride, &stride, sizeof stride);
  }
  return handle;
}

/// All that one call of the library is told, but for addresses.
struct Part {
  Matrix a, b, c, d;
  std::int64_t a_start = 0, d_start = 0;  ///< elements; c's and the bias' as d's
};

/// The factors and what is added, as the library takes them, and the epilogue.
struct Problem {
  int type = kFloat32;
  std::size_t element = 4;
  double alpha = 1;
  std::uint32_t epilogue = kPlain;
  bool swapped = true;                        ///< out^T = b^T a^T
  std::optional<std::size_t> residual, bias;  ///< operands of post-ops
  bool has_bias = false;                      ///< an input
  std::vector<std::int64_t> batch;            ///< sizes
  std::size_t inner = 0;                      ///< the dim of it that is the library's
  std::vector<Part> parts;
};

Result<int> type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return kFloat32;
    case DType::float16:
      return kFloat16;
    case DType::bfloat16:
      return kBfloat16;
    default:
      return failure(Code::PS0708, "cuBLASLt is not called for products of this dtype");
  }
}

class ProblemMaker {
 public:
  ProblemMaker(const LibraryCall& call, const LibraryOperands& operands)
      : call_(call), operands_(operands), out_(operands.outputs.front()) {}

  Result<Problem> make() {
    if (call_.name != "matmul")
      return failure(Code::PS0708, "a GPU's library has no " + call_.name);
    auto type = type_of(out_.dtype);
    if (!type) return tl::unexpected(std::move(type.error()));
    problem_.type = *type;
    problem_.element = static_cast<std::size_t>(facts(out_.dtype).size);
    rank_ = out_.sizes.size();
    problem_.swapped = out_.strides[rank_ - 1] == 1 || out_.sizes[rank_ - 1] == 1;
    problem_.batch.assign(out_.sizes.begin(), out_.sizes.end() - 2);
    const auto longest = std::ranges::max_element(problem_.batch);
    problem_.inner = static_cast<std::size_t>(longest - problem_.batch.begin());
    if (!set_epilogue() || !set_parts())
      return failure(Code::PS0708, "cuBLASLt takes no operands that lie like these");
    return std::move(problem_);
  }

 private:
  bool set_epilogue() {
    std::vector<const Operand*> operand_of(call_.post_ops.size());
    std::vector<std::size_t> number(call_.post_ops.size());
    for (std::size_t i = 0, next = 0; i < call_.post_ops.size(); ++i) {
      if (call_.post_ops[i].operand == kNoBuffer) continue;
      number[i] = next;
      operand_of[i] = &operands_.post_ops[next++];
    }
    problem_.has_bias = operands_.present.size() > 2 && operands_.present[2];
    const auto is_row = [&](std::size_t i) {
      const Operand& given = *operand_of[i];
      return given.sizes != out_.sizes;
    };
    const auto epilogue = device_epilogue(call_.post_ops, problem_.has_bias, is_row);
    if (!epilogue) return false;
    problem_.alpha = epilogue->alpha;
    if (epilogue->residual) {
      problem_.residual = number[*epilogue->residual];
      residual_ = operand_of[*epilogue->residual];
    }
    if (epilogue->bias) {
      problem_.bias = number[*epilogue->bias];
      if (!is_bias(*operand_of[*epilogue->bias])) return false;
    }
    if (problem_.has_bias && !is_bias(operands_.inputs[2])) return false;
    const bool bias = problem_.has_bias || problem_.bias;
    if (bias && !problem_.swapped) return false;
    const bool relu = epilogue->activation == PostOp::Kind::relu;
    const std::uint32_t none = 0, activation = !epilogue->activation ? none
                                               : relu                ? std::uint32_t{kRelu}
                                                                     : std::uint32_t{kGelu};
    problem_.epilogue = activation | (bias ? std::uint32_t{kWithBias} : none);
    if (problem_.epilogue == 0) problem_.epilogue = kPlain;
    return true;
  }

  /// A row of as many elements as the result has columns, one behind the other.
  bool is_bias(const Operand& given) const {
    const std::int64_t columns = out_.sizes.back();
    if (given.sizes.empty() || given.sizes.back() != columns) return false;
    return columns == 1 || given.strides.back() == 1;
  }

  /// The last two dims of an operand as a matrix, transposed where the result is.
  std::optional<Matrix> view(const Operand& operand, bool written) const {
    const std::size_t r = problem_.swapped ? rank_ - 1 : rank_ - 2,
                      c = problem_.swapped ? rank_ - 2 : rank_ - 1;
    auto made =
        matrix(operand.sizes[r], operand.sizes[c], operand.strides[r], operand.strides[c], written);
    if (!made) return made;
    for (std::size_t i = 0; i + 2 < rank_; ++i) {
      const bool one = operand.sizes[i] == 1 && out_.sizes[i] != 1;
      made->batch.push_back(one ? 0 : operand.strides[i]);
    }
    return made;
  }

  bool set_parts() {
    const Operand &left = operands_.inputs[0], &right = operands_.inputs[1];
    const auto a = view(problem_.swapped ? right : left, false),
               b = view(problem_.swapped ? left : right, false), d = view(out_, true),
               c = residual_ != nullptr ? view(*residual_, true) : d;
    if (!a || !b || !c || !d) return false;
    const auto vector = static_cast<std::int64_t>(kVectorBytes / problem_.element);
    const std::int64_t rows = d->rows, whole = rows / vector * vector;
    const bool split = whole > 0 && whole != rows && d->leading % vector == 0 && d->columns > 1;
    const auto add = [&](std::int64_t start, std::int64_t count) {
      Part part{*a, *b, *c, *d, start * (a->transposed ? a->leading : 1), start};
      (a->transposed ? part.a.columns : part.a.rows) = count;
      part.c.rows = part.d.rows = count;
      problem_.parts.push_back(std::move(part));
    };
    add(0, split ? whole : rows);
    if (split) add(whole, rows - whole);
    return true;
  }

  const LibraryCall& call_;
  const LibraryOperands& operands_;
  const Operand& out_;
  const Operand* residual_ = nullptr;
  std::size_t rank_ = 0;
  Problem problem_;
};

/// Addresses of one call of the library.
struct Places {
  const char *a, *b, *c, *bias;
  char* d;
};

std::size_t alignment(const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  return place == 0 ? kMostAlignment : std::min<std::size_t>(kMostAlignment, place & (~place + 1));
}

/// One part of a problem, ready for operands of one alignment.
class Call {
 public:
  static Result<Call> make(void* library, const Problem& problem, const Part& part, bool tf32,
                           const Places& places) {
    void* operation = nullptr;
    auto done = checked(
        cublaslt().make_operation(&operation, tf32 ? kComputeTf32 : kComputeFloat32, kFloat32),
        "a product");
    if (!done) return tl::unexpected(std::move(done.error()));
    Call call(library, Handle(operation, cublaslt().destroy_operation));
    const int a_turned = part.a.transposed, b_turned = part.b.transposed;
    cublaslt().set_operation(operation, kTransA, &a_turned, sizeof a_turned);
    cublaslt().set_operation(operation, kTransB, &b_turned, sizeof b_turned);
    cublaslt().set_operation(operation, kEpilogue, &problem.epilogue, sizeof problem.epilogue);
    const std::size_t inner = problem.inner;
    const auto count = static_cast<std::int32_t>(problem.batch.empty() ? 1 : problem.batch[inner]);
    for (const Matrix* matrix : {&part.a, &part.b, &part.c, &part.d}) {
      auto made =
          layout(*matrix, problem.type, count, matrix->batch.empty() ? 0 : matrix->batch[inner]);
      if (!made) return tl::unexpected(std::move(made.error()));
      call.layouts_.push_back(std::move(*made));
    }
    if (auto chosen = call.choose(places); !chosen)
      return tl::unexpected(std::move(chosen.error()));
    return call;
  }

  std::size_t workspace() const { return choice_.workspace; }

  Result<void> run(const Places& places, float alpha, float beta, void* workspace, void* stream) {
    set_bias(places);
    return checked(
        cublaslt().multiply(library_, operation_.get(), &alpha, places.a, layouts_[0].get(),
                            places.b, layouts_[1].get(), &beta, places.c, layouts_[2].get(),
                            places.d, layouts_[3].get(), choice_.algorithm.data(), workspace,
                            choice_.workspace, stream),
        "a product");
  }

 private:
  Call(void* library, Handle operation) : library_(library), operation_(std::move(operation)) {}

  void set_bias(const Places& places) {
    if (places.bias != nullptr)
      cublaslt().set_operation(operation_.get(), kBias, &places.bias, sizeof places.bias);
  }

  /// The heuristic looks at the bias' address itself.
  Result<void> choose(const Places& places) {
    set_bias(places);
    void* made = nullptr;
    auto done = checked(cublaslt().make_preference(&made), "a preference");
    if (!done) return done;
    const Handle preference(made, cublaslt().destroy_preference);
    cublaslt().set_preference(made, kMostWorkspace, &kWorkspace, sizeof kWorkspace);
    cublaslt().set_preference(made, kReductions, &kExactReductions, sizeof kExactReductions);
    const void* matrices[] = {places.a, places.b, places.c, places.d};
    for (int i = 0; i < 4; ++i) {
      const auto least = static_cast<std::uint32_t>(alignment(matrices[i]));
      cublaslt().set_preference(made, kAlignmentOfA + i, &least, sizeof least);
    }
    int found = 0;
    done =
        checked(cublaslt().choose(library_, operation_.get(), layouts_[0].get(), layouts_[1].get(),
                                  layouts_[2].get(), layouts_[3].get(), made, 1, &choice_, &found),
                "choosing a product");
    if (!done || found > 0) return done;
    return failure(Code::PS0708, "cuBLASLt has no such product");
  }

  void* library_;
  Handle operation_;
  std::vector<Handle> layouts_;  ///< of a, b, c and d
  ProductChoice choice_;
};

class Product final : public LibraryKernel {
 public:
  Product(void* library, std::shared_ptr<const LibraryHost> host, Problem problem)
      : library_(library), host_(std::move(host)), problem_(std::move(problem)) {}

  std::size_t scratch_bytes() const override { return 0; }
  std::string_view implementation() const override { return "cublaslt"; }

  Result<void> run(const LibraryMemory& memory) override {
    const Part& whole = problem_.parts.front();
    if (whole.d.rows == 0 || whole.d.columns == 0 || std::ranges::count(problem_.batch, 0) > 0)
      return {};
    const bool tf32 = problem_.type == kFloat32 && host_->allows_tf32 && host_->allows_tf32();
    std::vector<std::int64_t> at(problem_.batch.size());
    while (true) {
      for (std::size_t part = 0; part < problem_.parts.size(); ++part) {
        if (auto done = run_part(part, memory, at, tf32); !done) return done;
      }
      if (!next(at)) return {};
    }
  }

 private:
  /// The next place in the batch's dims but the library's.
  bool next(std::vector<std::int64_t>& at) const {
    for (std::size_t i = at.size(); i-- > 0;) {
      if (i == problem_.inner) continue;
      if (++at[i] < problem_.batch[i]) return true;
      at[i] = 0;
    }
    return false;
  }

  Places places(const Part& part, const LibraryMemory& memory,
                const std::vector<std::int64_t>& at) const {
    const auto place = [&](void* address, const Matrix& matrix, std::int64_t start) {
      for (std::size_t i = 0; i < at.size(); ++i) start += at[i] * matrix.batch[i];
      return static_cast<char*>(address) + start * static_cast<std::int64_t>(problem_.element);
    };
    void* const left = memory.inputs[0];
    void* const right = memory.inputs[1];
    Places made{};
    made.a = place(problem_.swapped ? right : left, part.a, part.a_start);
    made.b = place(problem_.swapped ? left : right, part.b, 0);
    made.d = place(memory.outputs[0], part.d, part.d_start);
    made.c = problem_.residual ? place(memory.post_ops[*problem_.residual], part.c, part.d_start)
                               : made.d;
    void* bias = problem_.has_bias ? memory.inputs[2]
                 : problem_.bias   ? memory.post_ops[*problem_.bias]
                                   : nullptr;
    if (bias != nullptr)
      made.bias =
          static_cast<char*>(bias) + part.d_start * static_cast<std::int64_t>(problem_.element);
    return made;
  }

  Result<void> run_part(std::size_t number, const LibraryMemory& memory,
                        const std::vector<std::int64_t>& at, bool tf32) {
    const Part& part = problem_.parts[number];
    const Places where = places(part, memory, at);
    const Key key = {number,
                     tf32,
                     alignment(where.a),
                     alignment(where.b),
                     alignment(where.c),
                     alignment(where.d),
                     alignment(where.bias)};
    auto known = calls_.find(key);
    if (known == calls_.end()) {
      auto made = Call::make(library_, problem_, part, tf32, where);
      if (!made) return tl::unexpected(std::move(made.error()));
      known = calls_.emplace(key, std::move(*made)).first;
    }
    Call& call = known->second;
    PooledMemory workspace;
    if (call.workspace() > 0) {
      workspace = PooledMemory(host_->memory, call.workspace());
      if (!workspace) return failure(Code::PS0803, "no memory for a product");
    }
    const float alpha = static_cast<float>(problem_.alpha), beta = problem_.residual ? 1 : 0;
    return call.run(where, alpha, beta, workspace.data(), host_->stream());
  }

  using Key = std::array<std::size_t, 7>;
  void* library_;
  std::shared_ptr<const LibraryHost> host_;
  Problem problem_;
  std::map<Key, Call> calls_;
};

class Products final : public Library {
 public:
  explicit Products(LibraryHost host) : host_(std::make_shared<LibraryHost>(std::move(host))) {}

  Result<std::unique_ptr<LibraryKernel>> make(const LibraryCall& call,
                                              const LibraryOperands& operands) override {
    auto problem = ProblemMaker(call, operands).make();
    if (!problem) return tl::unexpected(std::move(problem.error()));
    // Never destroyed: the device may be gone when the process ends.
    if (library_ == nullptr) {
      if (auto opened = checked(cublaslt().create(&library_), "a handle"); !opened)
        return tl::unexpected(std::move(opened.error()));
    }
    return std::make_unique<Product>(library_, host_, std::move(*problem));
  }

 private:
  std::shared_ptr<const LibraryHost> host_;
  void* library_ = nullptr;
};

}  // namespace

std::unique_ptr<Library> open_products(LibraryHost host) {
  if (!cublaslt().complete) return nullptr;
  return std::make_unique<Products>(std::move(host));
}

}  // namespace penstock::runtime::cuda
