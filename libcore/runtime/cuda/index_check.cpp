#include "runtime/cuda/index_check.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "runtime/cuda/functions.h"

namespace penstock::runtime::cuda {

namespace {

constexpr std::int64_t kThreads = 256, kMostBlocks = 1024;

/// Elements from `place` on, `count` of them; good are those from `least` to below `below`, and
/// `ignored`. __assertfail is the driver's: it prints, and ends the device's work.
constexpr std::string_view kCode = R"(.version 7.0
.target sm_80
.address_size 64
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 8 .b8 message[19] = {105, 110, 100, 101, 120, 32, 111, 117, 116, 32, 111, 102, 32, 98, 111, 117, 110, 100, 0};
.global .align 8 .b8 origin[9] = {112, 101, 110, 115, 116, 111, 99, 107, 0};
)";

constexpr std::string_view kKernel =
    R"(.visible .entry @NAME(.param .u64 place, .param .u64 count, .param .u64 least, .param .u64 below, .param .u64 ignored)
{
  .reg .pred %p<4>;
  .reg .b32 %r<5>;
  .reg .b64 %d<14>;
  .param .b64 first;
  .param .b64 second;
  .param .b32 third;
  .param .b64 fourth;
  .param .b64 fifth;
  ld.param.u64 %d0, [place];
  cvta.to.global.u64 %d0, %d0;
  ld.param.u64 %d1, [count];
  ld.param.u64 %d2, [least];
  ld.param.u64 %d3, [below];
  ld.param.u64 %d4, [ignored];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %d5, %r0, %r1;
  cvt.u64.u32 %d6, %r2;
  add.u64 %d5, %d5, %d6;
  mul.wide.u32 %d7, %r3, %r1;
loop:
  setp.ge.s64 %p0, %d5, %d1;
  @%p0 bra done;
  mad.lo.u64 %d8, %d5, @SIZE, %d0;
  ld.global.@TYPE %d9, [%d8];
  add.u64 %d5, %d5, %d7;
  setp.eq.s64 %p1, %d9, %d4;
  @%p1 bra loop;
  setp.lt.s64 %p2, %d9, %d2;
  setp.ge.or.s64 %p3, %d9, %d3, %p2;
  @!%p3 bra loop;
  mov.u64 %d10, message;
  cvta.global.u64 %d10, %d10;
  mov.u64 %d11, origin;
  cvta.global.u64 %d11, %d11;
  mov.u64 %d12, 1;
  mov.u32 %r4, 0;
  st.param.b64 [first], %d10;
  st.param.b64 [second], %d11;
  st.param.b32 [third], %r4;
  st.param.b64 [fourth], %d11;
  st.param.b64 [fifth], %d12;
  call.uni __assertfail, (first, second, third, fourth, fifth);
  bra loop;
done:
  ret;
}
)";

/// The kernel for elements of a type and size.
std::string kernel(std::string_view name, std::string_view type, std::string_view size) {
  std::string text;
  std::string_view rest = kKernel;
  const std::pair<std::string_view, std::string_view> words[] = {
      {"@NAME", name}, {"@SIZE", size}, {"@TYPE", type}};
  for (const auto& [word, by] : words) {  // each once, in their order
    const std::size_t at = rest.find(word);
    text.append(rest.substr(0, at)).append(by);
    rest.remove_prefix(at + word.size());
  }
  return text.append(rest);
}

std::string made_code() {
  return std::string(kCode) + kernel("check_indices_64", "s64", "8") +
         kernel("check_indices_32", "s32", "4");
}

std::int64_t number(const LibraryCall& call, std::string_view name, std::int64_t missing) {
  const auto found = std::ranges::find(call.attributes, name, &NamedArgument::name);
  const auto* given = found == call.attributes.end() ? nullptr : found->value.as<std::int64_t>();
  return given != nullptr ? *given : missing;
}

bool flag(const LibraryCall& call, std::string_view name) {
  const auto found = std::ranges::find(call.attributes, name, &NamedArgument::name);
  const auto* given = found == call.attributes.end() ? nullptr : found->value.as<bool>();
  return given != nullptr && *given;
}

/// The number of elements, where nothing lies between them.
std::optional<std::int64_t> dense_count(const Operand& operand) {
  std::int64_t count = 1, last = 0;
  for (std::size_t i = 0; i < operand.sizes.size(); ++i) {
    count *= operand.sizes[i];
    last += std::max<std::int64_t>(operand.sizes[i] - 1, 0) * operand.strides[i];
  }
  return count == 0 || last == count - 1 ? std::optional(count) : std::nullopt;
}

class IndexCheck final : public LibraryKernel {
 public:
  IndexCheck(std::shared_ptr<DeviceCode> code, void* function,
             std::shared_ptr<std::function<void*()>> stream, std::array<std::int64_t, 4> facts)
      : code_(std::move(code)), function_(function), stream_(std::move(stream)), facts_(facts) {}

  std::size_t scratch_bytes() const override { return 0; }
  std::string_view implementation() const override { return "device"; }

  Result<void> run(const LibraryMemory& memory) override {
    if (facts_[0] == 0) return {};
    void* place = memory.inputs[0];
    std::array<void*, 5> parameters = {&place, &facts_[0], &facts_[1], &facts_[2], &facts_[3]};
    const auto blocks =
        static_cast<unsigned>(std::min((facts_[0] + kThreads - 1) / kThreads, kMostBlocks));
    return checked(driver().launch(function_, blocks, 1, 1, kThreads, 1, 1, 0, (*stream_)(),
                                   parameters.data(), nullptr),
                   "looking at indices");
  }

 private:
  std::shared_ptr<DeviceCode> code_;
  void* function_;
  std::shared_ptr<std::function<void*()>> stream_;
  std::array<std::int64_t, 4> facts_;  ///< count, least, below, ignored
};

}  // namespace

std::string_view index_check_code() {
  static const std::string code = made_code();
  return code;
}

Result<std::unique_ptr<LibraryKernel>> IndexChecks::make(const LibraryCall& call,
                                                         const LibraryOperands& operands) {
  const Operand& indices = operands.inputs.front();
  const auto count = dense_count(indices);
  const bool wide = indices.dtype == DType::int64;
  if (!count || (!wide && indices.dtype != DType::int32))
    return failure(Code::PS0708, "indices on a GPU lie one behind the other, as int64 or int32");
  if (code_ == nullptr) {
    auto loaded = device_.load("ptx", index_check_code());
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    code_ = std::move(*loaded);
  }
  void* function = code_->function(wide ? "check_indices_64" : "check_indices_32");
  if (function == nullptr) return failure(Code::PS0811, "a kernel that looks at indices");
  const std::int64_t size = number(call, "size", 0), least = flag(call, "wraps") ? -size : 0;
  return std::make_unique<IndexCheck>(
      code_, function, stream_,
      std::array<std::int64_t, 4>{*count, least, size, number(call, "ignored", least)});
}

}  // namespace penstock::runtime::cuda
