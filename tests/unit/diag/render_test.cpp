#include "diag/render.h"

#include <doctest/doctest.h>

using namespace penstock;

namespace {

RenderOptions with_line(std::string line) {
  RenderOptions options;
  options.source = [line](const std::string&, int) { return std::optional<std::string>(line); };
  return options;
}

}  // namespace

TEST_CASE("carets stand under the columns") {
  Location at{"m.py", 12, 8, 12, 13};
  CHECK(excerpt(at, with_line("    x = a + b")) ==
        "  --> m.py:12:9\n"
        " 12 |     x = a + b\n"
        "    |         ^^^^^\n");
}

TEST_CASE("columns are bytes in Python and cells on a terminal") {
  // The string literal's six bytes are two wide characters: four cells.
  Location at{"m.py", 1, 8, 1, 9};
  CHECK(excerpt(at, with_line("\"\xE5\xBC\xA0\xE9\x87\x8F\"+b")).ends_with("   |       ^\n"));
  CHECK(excerpt({"m.py", 1, 1, 1, 2}, with_line("\tx")).ends_with("   | \t^\n"));
}

TEST_CASE("a location over several lines is marked to the end of its first") {
  CHECK(excerpt({"m.py", 3, 2, 5, 1}, with_line("f(a,")).ends_with("   |   ^^\n"));
}

TEST_CASE("unknown columns, lines and files leave out what is not known") {
  CHECK(excerpt({"m.py", 3, -1, 0, -1}, with_line("f(a)")) == "  --> m.py:3\n 3 | f(a)\n");
  CHECK(excerpt({"m.py", 0, -1, 0, -1}, with_line("f(a)")) == "  --> m.py\n");
  CHECK(excerpt({"/no/such/file.py", 3, 1, 3, 2}, {}) == "  --> /no/such/file.py:3:2\n");
}

TEST_CASE("a diagnostic names tool, severity, code, message and way out") {
  Diagnostic diagnostic{Code::PS0102, "cannot read a.json", {},
                        "",           "Look elsewhere.",    Severity::error};
  CHECK(render(diagnostic, "penstock-fuse", {}) ==
        "penstock-fuse: error[PS0102]: cannot read a.json\n  hint: Look elsewhere.\n");
}

TEST_CASE("as JSON a diagnostic is one line with everything escaped") {
  Diagnostic diagnostic{Code::PS0102, "a \"b\"\n", Location{"m.py", 1, 2, 3, 4},
                        "",           "h",         Severity::warning};
  CHECK(render_json(diagnostic, "t") ==
        "{\"tool\":\"t\",\"severity\":\"warning\",\"code\":\"PS0102\",\"title\":\"missing file\","
        "\"message\":\"a \\\"b\\\"\\n\",\"location\":{\"file\":\"m.py\",\"line\":1,\"column\":2,"
        "\"end_line\":3,\"end_column\":4},\"hint\":\"h\",\"exit\":6}\n");
}

TEST_CASE("what is no text, or would steer a terminal, is spelled out") {
  const std::string bad =
      "a\x1b[31m\x07\x7f\xc2\x9b\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82";
  const std::string good = "\tGr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80";
  Diagnostic diagnostic{Code::PS0102, bad + good, {}, bad, "b", Severity::error};
  const std::string spelled =
      "a\\x1b[31m\\x07\\x7f\\xc2\\x9b\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x82";
  CHECK(render(diagnostic, "t", {}) ==
        "t: error[PS0102]: " + spelled + good + "\n  at: " + spelled + "\n  hint: b\n");
  const std::string json = render_json(diagnostic, "t");
  CHECK(json.find("a\\u001b[31m\\u0007\x7f\xc2\x9b\\ufffd\\ufffd\\ufffd") != std::string::npos);
  CHECK(json.find(good.substr(1)) != std::string::npos);
  CHECK(json.find('\xff') == std::string::npos);
}
