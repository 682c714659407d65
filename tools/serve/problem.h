#pragma once

#include <string>
#include <tl/expected.hpp>

namespace penstock::serve {

/// Why a request is not answered as it wants: an HTTP status, and a sentence for {"error": …}.
struct Problem {
  unsigned status = 500;
  std::string text;
};

template <class T>
using Answer = tl::expected<T, Problem>;

inline tl::unexpected<Problem> problem(unsigned status, std::string text) {
  return tl::unexpected(Problem{status, std::move(text)});
}

}  // namespace penstock::serve
