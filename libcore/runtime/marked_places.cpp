#include "runtime/marked_places.h"

#include <bit>
#include <cstring>

namespace penstock::runtime {

namespace {

class MarkedPlaces : public LibraryKernel {
 public:
  explicit MarkedPlaces(const LibraryOperands& operands)
      : marks_(operands.inputs[0].sizes[0]),
        step_(operands.inputs[0].strides[0]),
        places_(operands.outputs[0].sizes[0]),
        out_step_(operands.outputs[0].strides[0]) {}

  std::size_t scratch_bytes() const override { return 0; }
  bool is_alone() const override { return true; }
  std::string_view implementation() const override { return "scan"; }

  Result<void> run(const LibraryMemory& memory) override {
    const auto* marks = static_cast<const std::uint8_t*>(memory.inputs[0]);
    auto* out = static_cast<std::int64_t*>(memory.outputs[0]);
    std::int64_t found = 0, i = 0;
    const auto note = [&](std::int64_t place) {
      if (found < places_) out[found * out_step_] = place;
      ++found;
    };
    // Eight marks at a time, most of which are mostly none: a byte that is not 0 has a bit set.
    for (; step_ == 1 && i + 8 <= marks_; i += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, marks + i, sizeof eight);
      while (eight != 0) {
        const int byte = std::countr_zero(eight) / 8;
        note(i + byte);
        eight &= ~(std::uint64_t{0xff} << (8 * byte));
      }
    }
    for (; i < marks_; ++i) {
      if (marks[i * step_] != 0) note(i);
    }
    if (found == places_) return {};
    return failure(Code::PS0808, "nonzero: " + std::to_string(found) +
                                     " elements are true, there is room for " +
                                     std::to_string(places_));
  }

 private:
  std::int64_t marks_, step_, places_, out_step_;
};

}  // namespace

std::unique_ptr<LibraryKernel> make_marked_places(const LibraryOperands& operands) {
  return std::make_unique<MarkedPlaces>(operands);
}

}  // namespace penstock::runtime
