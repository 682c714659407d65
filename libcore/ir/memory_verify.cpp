#include "ir/memory_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace penstock {

namespace {

/// No product of two sizes overflows it.
using Wide = __int128;

/// A range of bytes, or of elements: [first, behind).
struct Range {
  Wide first = 0, behind = 0;
};

class MemoryChecker {
 public:
  MemoryChecker(const Interface& interface, const std::vector<Buffer>& buffers,
                const Arenas& arenas, const SizeValue& value, bool inputs)
      : interface_(interface),
        buffers_(buffers),
        value_(value),
        inputs_(inputs),
        decided_(arenas.decided),
        arena_bytes_{value(arenas.bytes)} {
    for (std::size_t i = 0; decided_ != nullptr && i < decided_->all().size(); ++i)
      arena_bytes_.push_back(value(decided_->all()[i].memory));
  }

  /// Of `some`, in order, which wait for one size and lie in an arena of their own.
  MemoryChecker(const Interface& interface, const std::vector<Buffer>& buffers,
                const std::vector<BufferId>& some, std::int64_t arena_bytes, const SizeValue& value)
      : interface_(interface),
        buffers_(buffers),
        value_(value),
        inputs_(false),
        decided_(nullptr),
        some_(&some),
        arena_bytes_{arena_bytes} {}

  Result<void> run() const {
    if (auto sized = check_arenas(); !sized) return sized;
    const std::size_t count = some_ != nullptr ? some_->size() : buffers_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t id = some_ != nullptr ? static_cast<std::size_t>((*some_)[i]) : i;
      if (auto fits = check(buffers_[id]); !fits) return fits;
    }
    return {};
  }

 private:
  Result<void> check_arenas() const {
    for (const auto& bytes : arena_bytes_) {
      if (bytes && *bytes < 0) return broken("the arena has a negative length");
      if (bytes && *bytes > kMaxMemoryBytes) return broken("the arena is longer than any memory");
    }
    return {};
  }

  Result<void> check(const Buffer& buffer) const {
    if (auto kept = check_kept(buffer); !kept) return kept;
    auto memory = memory_of(buffer);
    if (!memory) return tl::unexpected(memory.error());
    auto window = reach(buffer.sizes, buffer.strides, buffer.offset);
    if (!window) return broken(fmt::format("buffer {} has a negative size", buffer.name));
    if (!*memory || !*window) return {};
    Wide size = facts(buffer.dtype).size;
    Range used{(*window)->first * size, (*window)->behind * size};
    bool empty = used.first == used.behind;
    if (!empty && (used.first < (*memory)->first || used.behind > (*memory)->behind)) {
      return broken(fmt::format("buffer {} reaches from byte {} to byte {} of a memory of {} bytes",
                                buffer.name, static_cast<std::int64_t>(used.first),
                                static_cast<std::int64_t>(used.behind),
                                static_cast<std::int64_t>((*memory)->behind)));
    }
    return {};
  }

  Result<void> broken(std::string message) const {
    return failure(Code::PS0205, std::move(message),
                   fmt::format("graph {}", to_string(interface_.id)));
  }

  /// Where a buffer stands in memory that is not made anew for every size.
  Result<void> check_kept(const Buffer& buffer) const {
    if (buffer.kind != Buffer::Kind::scratch && buffer.kind != Buffer::Kind::prepared) return {};
    const auto start = buffer.arena_offset.constant(), bytes = buffer.bytes.constant();
    const bool fits =
        start && bytes && *start >= 0 && *start % 64 == 0 && *start <= kMaxMemoryBytes;
    if (fits) return {};
    return broken(
        fmt::format("buffer {} has no constant place that is a multiple of 64 bytes", buffer.name));
  }

  /// The elements of a window; the inner nothing: not known; the outer: a size is negative.
  std::optional<std::optional<Range>> reach(const std::vector<SymExpr>& sizes,
                                            const std::vector<SymExpr>& strides,
                                            const SymExpr& offset) const {
    auto start = value_(offset);
    bool known = start.has_value(), empty = false;
    Range out{start.value_or(0), Wide{start.value_or(0)} + 1};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto size = value_(sizes[i]), stride = value_(strides[i]);
      if (size && *size < 0) return std::nullopt;
      known = known && size && stride;
      if (!known) continue;
      empty |= *size == 0;
      Wide far = Wide{*size - 1} * *stride;
      (far < 0 ? out.first : out.behind) += far;
    }
    if (!known) return std::optional<Range>();
    return empty ? Range{} : out;
  }

  /// The bytes of the memory that a buffer is a window on; nothing inside: not known or not
  /// checked.
  Result<std::optional<Range>> memory_of(const Buffer& buffer) const {
    if (buffer.kind == Buffer::Kind::view)
      return memory_of(buffers_[static_cast<std::size_t>(buffer.base)]);
    if (buffer.kind == Buffer::Kind::input) return input_memory(buffer);
    auto bytes = value_(buffer.bytes);
    if (!bytes) return std::optional<Range>();
    if (*bytes < 0) return unexpected(buffer, "has a negative length");
    if (*bytes > kMaxMemoryBytes) return unexpected(buffer, "is longer than any memory");
    if (buffer.kind == Buffer::Kind::temporary) {
      auto start = value_(buffer.arena_offset);
      if (start && (*start < 0 || *start % 64 != 0)) {
        return unexpected(buffer, "does not start at a multiple of 64 bytes");
      }
      const auto arena = arena_bytes_of(buffer);
      if (start && arena && Wide{*start} + *bytes > *arena) {
        return unexpected(buffer, fmt::format("ends behind the arena of {} bytes", *arena));
      }
    }
    return std::optional(Range{0, *bytes});
  }

  /// The length of the arena that a temporary lies in; nothing where that is another's.
  std::optional<std::int64_t> arena_bytes_of(const Buffer& buffer) const {
    const auto id = static_cast<BufferId>(&buffer - buffers_.data());
    if (some_ != nullptr && !std::ranges::binary_search(*some_, id)) return std::nullopt;
    if (decided_ == nullptr || decided_->empty()) return arena_bytes_.front();
    const int decision = decided_->decided_by(buffers_, id);
    return arena_bytes_[static_cast<std::size_t>(decision + 1)];
  }

  Result<std::optional<Range>> input_memory(const Buffer& buffer) const {
    if (!inputs_) return std::optional<Range>();
    const TensorType& type = interface_.inputs[static_cast<std::size_t>(buffer.index)].type;
    auto elements = reach(type.sizes, type.strides, 0);
    if (!elements) return unexpected(buffer, "is a window on an input of a negative size");
    if (!*elements) return std::optional<Range>();
    Wide size = facts(type.dtype).size;
    return std::optional(Range{(*elements)->first * size, (*elements)->behind * size});
  }

  tl::unexpected<Diagnostic> unexpected(const Buffer& buffer, std::string_view what) const {
    return tl::unexpected(broken(fmt::format("buffer {} {}", buffer.name, what)).error());
  }

  const Interface& interface_;
  const std::vector<Buffer>& buffers_;
  const SizeValue& value_;
  bool inputs_;
  const DecidedSizes* decided_;
  const std::vector<BufferId>* some_ = nullptr;  ///< null: all
  std::vector<std::optional<std::int64_t>>
      arena_bytes_;  ///< the first one's, then the decided ones'
};

}  // namespace

SizeValue recorded_sizes(const std::vector<Symbol>& symbols) {
  std::unordered_map<std::string, std::int64_t> values;
  for (const Symbol& symbol : symbols) {
    if (symbol.hint) values.emplace(symbol.name, *symbol.hint);
  }
  return [values = std::move(values)](const SymExpr& expression) {
    return expression.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
      auto found = values.find(std::string(name));
      return found == values.end() ? std::nullopt : std::optional(found->second);
    });
  };
}

Result<void> verify_memory(const Interface& interface, const std::vector<Buffer>& buffers,
                           const Arenas& arenas, const SizeValue& value, bool inputs) {
  return MemoryChecker(interface, buffers, arenas, value, inputs).run();
}

Result<void> verify_decided_memory(const Interface& interface, const std::vector<Buffer>& buffers,
                                   const std::vector<BufferId>& decided, std::int64_t arena_bytes,
                                   const SizeValue& value) {
  return MemoryChecker(interface, buffers, decided, arena_bytes, value).run();
}

}  // namespace penstock
