#include "tools/report/page.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

using namespace penstock::report;

TEST_CASE("a page gives back the report byte for byte, whatever stands in it") {
  const std::string texts[] = {"</script><script>alert(1)</script>",
                               "<!--",
                               "]]>",
                               "\\u003c",
                               "\\",
                               "\\\\u003c",
                               "\xe2\x80\xa8\xe2\x80\xa9",
                               "\"<\"",
                               "",
                               "@BEFORE@ @REPORT@ @SCRIPT@"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    const std::string report = nlohmann::json{{text, text}}.dump() + "\n";
    const std::string page = to_page(report, report);
    CHECK(is_page(page));
    const auto back = report_of_page(page);
    REQUIRE(back);
    CHECK(*back == report);
  }
}

TEST_CASE("nothing in a report is a tag of the page") {
  const std::string report = R"({"name":"</script><img src=x onerror=alert(1)>"})";
  const std::string page = to_page(report, "");
  CHECK(page.find("<img") == page.npos);
  CHECK(page.size() == to_page("", "").size() + report.size() + 2 * std::string("u003c").size());
}

TEST_CASE("the page's policy names hashes and nothing from elsewhere") {
  const std::string page = to_page("{}", "");
  CHECK(page.find("default-src 'none'; script-src 'sha256-") != page.npos);
  CHECK(page.find("unsafe") == page.npos);
  CHECK(page.find("http://") == page.find("http://www.w3.org/2000/svg"));
  CHECK(page.find("https://") == page.npos);
  CHECK(page.find("innerHTML") == page.npos);
}

TEST_CASE("what is no page, or half of one, has no report") {
  CHECK(!report_of_page("{}"));
  CHECK(!report_of_page(""));
  const std::string page = to_page("{}", "");
  CHECK(!report_of_page(page.substr(0, page.find("penstock-before") - 60)));
}
