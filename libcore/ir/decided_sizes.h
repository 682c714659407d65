#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/buffer.h"
#include "ir/control_steps.h"
#include "ir/interface.h"

namespace penstock {

/// The number that a size expression stands for; nothing when that is not known.
using SizeValue = std::function<std::optional<std::int64_t>(const SymExpr&)>;

/// A size that elements decide while a program runs: the library call "item" is where it is known.
/// Memory whose length hangs on it is taken there, and the steps that need it stand behind.
struct DecidedSize {
  std::size_t step = 0;  ///< of the call
  std::string symbol;    ///< empty: the element has to be `size`, which is known before
  SymExpr size;
  SymExpr memory;  ///< bytes of the arena for the temporaries that this decides (decided_by)
};

/// Nothing for another call.
std::optional<DecidedSize> decided_size_of(const LibraryCall& call, std::size_t step);

/// The sizes that a program decides, in the order of its steps.
class DecidedSizes {
 public:
  DecidedSizes() = default;
  template <class Step>
  explicit DecidedSizes(const std::vector<Step>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto* call = std::get_if<LibraryCall>(&steps[i]);
      if (auto size = call != nullptr ? decided_size_of(*call, i) : std::nullopt)
        add(std::move(*size));
    }
  }

  const std::vector<DecidedSize>& all() const { return sizes_; }
  bool empty() const { return sizes_.empty(); }
  bool contains(std::string_view symbol) const { return by_symbol_.contains(std::string(symbol)); }

  /// The position in all() of the last size that the expression needs; -1: inputs say it all.
  int decided_by(const SymExpr& expression) const;
  /// The same for all that is known of a buffer, and of the memory that it is a window on.
  int decided_by(const std::vector<Buffer>& buffers, BufferId buffer) const;
  /// The same for a list of attributes.
  int decided_by(const std::vector<NamedArgument>& attributes) const;

 private:
  void add(DecidedSize size);

  std::vector<DecidedSize> sizes_;
  std::unordered_map<std::string, int> by_symbol_;
};

/// Whether a condition on sizes is for the run to test, where elements have decided one of them: no
/// source gives its symbol. Of a graph that was captured; subgraphs and what other tools wrote have
/// symbols that inputs' sizes give.
bool waits_for_elements(const Interface& interface, const Condition& condition);

/// Checks that an element may decide the size: it is what it has to be, or in the symbol's range,
/// and the guards that name the symbol hold as far as `value`, in which the symbol is that element,
/// knows their sizes. PS0812, a note.
Result<void> check_decided(const Interface& interface, const DecidedSize& size,
                           std::int64_t element, const SizeValue& value);

/// Checks that the sizes stand outside of branches and loops, and that each symbol is one of the
/// interface's, which no input gives, and is decided once. PS0205, at `place`.
Result<void> verify_decided_sizes(const DecidedSizes& sizes, const ControlSteps& steps,
                                  const Interface& interface, const std::string& place);
/// Checks that step `step`, which needs the size at position `decision` of all() (-1: none), stands
/// behind the call that decides it. PS0205, at `place`.
Result<void> verify_behind(const DecidedSizes& sizes, int decision, std::size_t step,
                           const std::string& place);

}  // namespace penstock
