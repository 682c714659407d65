#include "ops/einsum.h"

#include <algorithm>
#include <array>

namespace penstock::ops {

namespace {

constexpr std::size_t kLetters = 52, kEllipsis = kLetters;

/// Capitals come first: the order of an implicit result.
std::size_t label_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  return letter - 'a' + 26;
}

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// The labels of one operand or of the result.
std::vector<std::size_t> read_labels(Arguments& in, std::string_view text) {
  std::vector<std::size_t> labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      bool first = std::find(labels.begin(), labels.end(), kEllipsis) == labels.end();
      if (!first || text.substr(i, 3) != "...")
        in.fail("einsum(): found '.' that is not part of the one ellipsis");
      labels.push_back(kEllipsis);
      i += 2;
    } else if (is_letter(text[i])) {
      labels.push_back(label_of(text[i]));
    } else {
      in.fail("einsum(): subscripts must be in [a-zA-Z]");
    }
  }
  return labels;
}

class EquationReader {
 public:
  EquationReader(Arguments& in, const std::vector<std::size_t>& ranks) : in_(in), ranks_(ranks) {}

  EinsumEquation read(std::string_view equation) {
    const std::size_t arrow = equation.find("->");
    read_operands(equation.substr(0, arrow));
    place_.fill(-1);
    if (arrow == std::string_view::npos)
      place_implicit_result();
    else
      place_result(read_labels(in_, equation.substr(arrow + 2)));
    result_.out_rank = next_;
    if (!ellipsis_placed_) place_ellipsis();
    for (std::size_t label = 0; label < kLetters; ++label) {
      if (counts_[label] > 0 && place_[label] < 0)
        place_[label] = static_cast<std::int64_t>(next_++);
    }
    result_.rank = next_;
    for (std::size_t i = 0; i < labels_.size() && !in_.failed(); ++i) place_operand(i);
    return std::move(result_);
  }

 private:
  void read_operands(std::string_view text) {
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = text.find(',');
      labels_.push_back(read_labels(in_, text.substr(0, comma)));
      if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
    }
    if (labels_.size() != ranks_.size())
      return in_.fail("einsum(): the equation is for another number of operands");
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      std::size_t letters = 0;
      for (std::size_t label : labels_[i]) {
        if (label == kEllipsis) continue;
        ++letters;
        ++counts_[label];
      }
      const bool covers = letters != labels_[i].size();
      if (covers ? letters > ranks_[i] : letters != ranks_[i])
        return in_.fail("einsum(): the number of subscripts does not fit an operand's dims");
      if (covers) covered_ = std::max(covered_, ranks_[i] - letters);
    }
  }

  void place_ellipsis() {
    ellipsis_ = next_;
    next_ += covered_;
    ellipsis_placed_ = true;
  }

  /// An ellipsis, then the labels that appear once.
  void place_implicit_result() {
    place_ellipsis();
    for (std::size_t label = 0; label < kLetters; ++label) {
      if (counts_[label] == 1) place_[label] = static_cast<std::int64_t>(next_++);
    }
  }

  void place_result(const std::vector<std::size_t>& labels) {
    for (std::size_t label : labels) {
      if (label == kEllipsis) {
        place_ellipsis();
      } else if (counts_[label] == 0 || place_[label] >= 0) {
        return in_.fail("einsum(): a subscript of the output appears twice or in no operand");
      } else {
        place_[label] = static_cast<std::int64_t>(next_++);
      }
    }
  }

  void place_operand(std::size_t i) {
    std::vector<std::int64_t>& places = result_.places.emplace_back();
    for (std::size_t label : labels_[i]) {
      if (label != kEllipsis) {
        places.push_back(place_[label]);
        continue;
      }
      // What the ellipsis covers lines up from the right.
      const std::size_t own = ranks_[i] - (labels_[i].size() - 1);
      for (std::size_t j = covered_ - own; j < covered_; ++j)
        places.push_back(static_cast<std::int64_t>(ellipsis_ + j));
    }
  }

  Arguments& in_;
  const std::vector<std::size_t>& ranks_;
  EinsumEquation result_;
  std::vector<std::vector<std::size_t>> labels_;  ///< by operand
  std::array<std::size_t, kLetters> counts_{};    ///< how often a label appears
  std::array<std::int64_t, kLetters> place_{};
  std::size_t covered_ = 0, ellipsis_ = 0, next_ = 0;
  bool ellipsis_placed_ = false;
};

}  // namespace

EinsumEquation parse_einsum(Arguments& in, std::string_view equation,
                            const std::vector<std::size_t>& ranks) {
  return EquationReader(in, ranks).read(equation);
}

}  // namespace penstock::ops
