#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace penstock {

/// Which part of a training step a graph is.
enum class GraphRole : std::uint8_t {
  inference,  ///< no part: it is all of one entry, a joint graph with its gradients too
  forward,    ///< outputs, and behind them what the backward graph needs of it
  backward,   ///< gradients
};
std::string_view to_string(GraphRole role);
std::optional<GraphRole> graph_role_from_name(std::string_view name);

/// Input `input` is the tangent of output `output`: the gradient of what comes behind it.
struct Tangent {
  std::int32_t input;
  std::int32_t output;
};

/// Input `input` of a backward graph is output `output` of its forward graph.
struct Saved {
  std::int32_t input;
  std::int32_t output;
};

/// Input `input` of a backward graph is input `forward` of its forward graph.
struct Passed {
  std::int32_t input;
  std::int32_t forward;
};

/// Output `output` is the gradient of input `input`.
struct Gradient {
  std::int32_t input;
  std::int32_t output;
};

/// How a graph takes part in a training step, from level core on.
///
/// Of a joint graph: what backward takes and gives. An input that requires grad and has no gradient
/// here gets none, as the outputs do not depend on it.
///
/// A backward graph has the id of its forward graph, whose outputs the tangents and whose inputs
/// the gradients are of. Each of its inputs is a tangent, saved, passed, or of kind size: the value
/// of the symbol that its source belongs to.
struct TrainingPart {
  GraphRole role = GraphRole::inference;
  std::vector<Tangent> tangents;
  std::vector<Gradient> gradients;
  std::vector<Saved> saved;    ///< backward
  std::vector<Passed> passed;  ///< backward
};

}  // namespace penstock
