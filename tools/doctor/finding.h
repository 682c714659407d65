#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::tools {

/// What one thing that compiling depends on was found to be.
struct Finding {
  enum class Verdict : std::uint8_t {
    good,     ///< as it should be
    slower,   ///< programs are compiled, but not as they could be
    hindered  ///< programs are not compiled
  };
  std::string_view subject;  ///< a word: "python", "store"
  std::string text = {};     ///< what there is, or what is wrong with it
  Verdict verdict = Verdict::good;
  std::string way_out = {};  ///< what to do, unless it is good
};

}  // namespace penstock::tools
