#include "tools/serve/routes.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace penstock::serve {

namespace {

using Kind = Route::Kind;

/// A part of a path, with %XX decoded; what is no such code stays as it is.
std::string decoded(std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    unsigned char byte = 0;
    const char* first = part.data() + i + 1;
    if (part[i] == '%' && i + 2 < part.size() &&
        std::from_chars(first, first + 2, byte, 16).ptr == first + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += part[i];
    }
  }
  return out;
}

std::vector<std::string> parts_of(std::string_view target) {
  target = target.substr(0, target.find_first_of("?#"));
  std::vector<std::string> parts;
  while (!target.empty()) {
    target.remove_prefix(1);  // the slash
    const std::size_t end = std::min(target.find('/'), target.size());
    parts.push_back(decoded(target.substr(0, end)));
    target.remove_prefix(end);
  }
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

constexpr std::pair<std::string_view, Kind> kOfModel[] = {{"ready", Kind::model_ready},
                                                          {"config", Kind::config},
                                                          {"stats", Kind::statistics},
                                                          {"infer", Kind::infer}};

/// What stands behind /v2/models/.
Route model_route(std::vector<std::string> parts) {
  Route route{Kind::none, parts.at(0)};
  parts.erase(parts.begin());
  if (parts.size() >= 2 && parts[0] == "versions") {
    if (parts[1] != "1") return {};
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  if (parts.empty()) route.kind = Kind::metadata;
  for (const auto& [word, kind] : kOfModel) {
    if (parts.size() == 1 && parts[0] == word) route.kind = kind;
  }
  return route;
}

}  // namespace

Route route_of(std::string_view target) {
  if (target.empty() || target.front() != '/') return {};
  std::vector<std::string> parts = parts_of(target);
  using Parts = std::vector<std::string>;
  if (parts == Parts{"metrics"}) return {Kind::metrics, {}};
  if (parts == Parts{"v2"}) return {Kind::server, {}};
  if (parts == Parts{"v2", "health", "live"}) return {Kind::live, {}};
  if (parts == Parts{"v2", "health", "ready"}) return {Kind::ready, {}};
  if (parts == Parts{"v2", "repository", "index"}) return {Kind::repository_index, {}};
  if (parts.size() < 3 || parts[0] != "v2" || parts[1] != "models") return {};
  parts.erase(parts.begin(), parts.begin() + 2);
  return model_route(std::move(parts));
}

}  // namespace penstock::serve
