#include "tools/report/page.h"

namespace penstock::report {

namespace {

constexpr std::string_view kOpen = "<script type=\"application/json\" id=\"penstock-report\">";
constexpr std::string_view kClose = "</script>";
constexpr std::string_view kLess = "\\u003c";

/// JSON in which `<` stands in texts alone, and there as an escape: no tag and no comment begins
/// in it. JSON itself never writes this escape, so it can be taken back.
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

/// The inverse. A backslash that is itself escaped begins no escape.
std::string with_tags(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kLess)) {
      out += '<';
      at += kLess.size();
    } else {
      const std::size_t length = text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
      out += text.substr(at, length);
      at += length;
    }
  }
  return out;
}

}  // namespace

std::string to_page(std::string_view report, std::string_view before) {
  return kPageParts[0] + without_tags(report) + kPageParts[1] + without_tags(before) +
         kPageParts[2];
}

bool is_page(std::string_view text) {
  return text.starts_with("<!DOCTYPE html>");
}

Result<std::string> report_of_page(std::string_view page) {
  const std::size_t open = page.find(kOpen);
  const std::size_t begin = open + kOpen.size();
  const std::size_t end = open == page.npos ? open : page.find(kClose, begin);
  if (end == page.npos) {
    auto failed = failure(Code::PS0201, "the file is no page of penstock report, or is cut off");
    failed.value().hint =
        "Make one with `penstock report --html=FILE`; documents need no --from-html.";
    return failed;
  }
  return with_tags(page.substr(begin, end - begin));
}

}  // namespace penstock::report
