#pragma once

#include <nlohmann/json.hpp>

#include "tools/report/report.h"

// The parts of the report's JSON that stand in files of their own.
namespace penstock::report {

nlohmann::json encode(const std::optional<Location>& location);
nlohmann::json encode(const Shares& shares);
nlohmann::json encode(const GraphEntry& graph);

}  // namespace penstock::report
