#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace penstock::record {

class Recorder;

/// What torch's operators of control flow run, as a segment records it: the two branches of a
/// condition, the condition and the body of a loop. Each is run once, one after the other, and
/// written down as nodes like any; joining them takes those out of the graph again.
class OpenSubgraphs {
 public:
  /// An operator whose subgraphs are recorded.
  struct Operator {
    std::string_view op;                  ///< of its node: a row of find_control_op
    std::string_view torch;               ///< what the program calls
    std::string_view part;                ///< what a subgraph is to people
    std::vector<std::string_view> names;  ///< of its subgraphs, before a number
  };
  /// The row of an op, which must have one.
  static const Operator& operator_of(std::string_view op);

  /// The next subgraph of the innermost operator begins, or the first one of one in it.
  void begin(const Recorder& recorder, const Operator& op);
  /// What was begun last ends with these results.
  void end(const Recorder& recorder, std::vector<ValueId> results);
  bool any() const { return !open_.empty(); }
  /// What is being recorded, to people: "a branch of torch.cond".
  std::string what() const;
  /// True if the memory that value `id` is in was made since the innermost subgraph began.
  bool is_made_inside(const Recorder& recorder, ValueId id) const;
  /// Results of the subgraph of the innermost operator that was recorded at `place`.
  const std::vector<ValueId>& results(std::size_t place) const {
    return open_.back().parts[place].results;
  }
  /// What the subgraphs of the innermost operator use that was there before, in order of first use.
  std::vector<ValueId> taken(const Recorder& recorder) const;
  /// How many subgraphs of the innermost operator are recorded.
  std::size_t count() const { return open_.back().parts.size(); }
  /// Why what the innermost operator runs cannot be subgraphs; empty: it can.
  std::string obstacle(const Recorder& recorder) const;
  /// Takes the subgraphs of the innermost operator out of the graph, and appends the node that runs
  /// them.
  struct Joined {
    std::vector<NamedArgument> before, behind;  ///< arguments beside the operands
    std::vector<ValueId> operands;  ///< the first ones; behind them comes what is used besides
    std::vector<ValueId> inputs;    ///< the values that stand for those in the subgraphs
    std::vector<TensorType> types;  ///< of the results
    Call call;
  };
  std::vector<ValueId> join(Recorder& recorder, Joined joined);

 private:
  /// Nodes and calls from `node` and `call` on, which make the values from `value` on.
  struct Part {
    std::size_t node = 0, last_node = 0;
    std::size_t call = 0, last_call = 0;
    ValueId value = 0;
    std::vector<ValueId> results;
    bool ended = false;
  };
  struct Open {
    const Operator* op = nullptr;
    std::vector<Part> parts;
  };
  static bool is_outside(const Recorder& recorder, const Part& part, ValueId id);
  static bool is_made_inside(const Recorder& recorder, const Part& part, ValueId id);
  static std::string obstacle_to_results(const Recorder& recorder, const Part& part);
  static std::vector<ValueId> taken_by(const Recorder& recorder, const std::vector<Part>& parts);
  static Graph subgraph(Recorder& recorder, const Part& part, const std::vector<ValueId>& operands,
                        std::string name);

  std::vector<Open> open_;  ///< the innermost last
  int joined_ = 0;
};

}  // namespace penstock::record
