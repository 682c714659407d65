#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/common/command_line.h"

namespace CLI {
class App;
}

namespace penstock::tools {

/// --help: summary, usage, and every option of `app` by group, wrapped to `width` columns, and
/// `epilogue`.
std::string help_text(const CLI::App& app, const Tool& tool, int width, std::string_view epilogue);

/// --describe=json: the same facts and the exit statuses and environment variables as an object,
/// from which man pages and completions are made.
std::string describe_json(const CLI::App& app, const Tool& tool,
                          const std::vector<PassFacts>& passes);

}  // namespace penstock::tools
