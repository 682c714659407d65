#pragma once

#include <string>
#include <string_view>

namespace penstock::serve {

/// What a target asks for.
struct Route {
  enum class Kind {
    none,              ///< nothing that there is
    server,            ///< /v2
    live,              ///< /v2/health/live
    ready,             ///< /v2/health/ready
    metadata,          ///< /v2/models/NAME
    model_ready,       ///< /v2/models/NAME/ready
    config,            ///< /v2/models/NAME/config
    statistics,        ///< /v2/models/NAME/stats
    infer,             ///< /v2/models/NAME/infer
    repository_index,  ///< /v2/repository/index
    metrics,           ///< /metrics
  };
  Kind kind = Kind::none;
  std::string model;

  /// infer and repository_index are asked for by POST, all others by GET.
  bool is_posted() const { return kind == Kind::infer || kind == Kind::repository_index; }
};

/// Reads the target of a request line; behind a model's name may stand /versions/1, the only one
/// that there is.
Route route_of(std::string_view target);

}  // namespace penstock::serve
