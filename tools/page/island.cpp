#include "tools/page/island.h"

namespace penstock::tools {

namespace {

constexpr std::string_view kLess = "\\u003c";  // JSON itself never writes this escape

}  // namespace

std::string without_tags(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (char byte : json) {
    if (byte == '<') {
      out += kLess;
    } else {
      out += byte;
    }
  }
  return out;
}

std::string with_tags(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kLess)) {
      out += '<';
      at += kLess.size();
    } else {
      // A backslash that is itself escaped begins no escape.
      const std::size_t length = text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
      out += text.substr(at, length);
      at += length;
    }
  }
  return out;
}

}  // namespace penstock::tools
