#pragma once

#include <optional>

#include "python/object.h"
#include "runtime/random_stream.h"

namespace penstock::jit {

/// The program's generator, torch.default_generator: draws what torch's own ops would, and leaves
/// the state that they would leave. Where torch's kernels take another stream than an mt19937
/// (those of MKL), torch draws. Needs the GIL, and torch imported.
class TorchRandom final : public runtime::RandomSource {
 public:
  /// PS0505 where torch refuses.
  Result<void> bernoulli(double probability, std::span<std::uint8_t> elements) override;

 private:
  bool find_generator();
  std::optional<runtime::RandomState> read(python::PyRef& state) const;
  bool write(const runtime::RandomState& state, PyObject* tensor) const;
  /// Whether a draw of ours is that of torch, and what is left behind it.
  bool test();

  python::PyRef generator_;
  std::optional<bool> same_stream_;  ///< nothing: not known yet
};

}  // namespace penstock::jit
