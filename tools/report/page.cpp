#include "tools/report/page.h"

#include "tools/page/island.h"

namespace penstock::report {

namespace {

constexpr std::string_view kOpen = "<script type=\"application/json\" id=\"penstock-report\">";
constexpr std::string_view kClose = "</script>";

}  // namespace

std::string to_page(std::string_view report, std::string_view before) {
  return kPageParts[0] + tools::without_tags(report) + kPageParts[1] + tools::without_tags(before) +
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
  return tools::with_tags(page.substr(begin, end - begin));
}

}  // namespace penstock::report
