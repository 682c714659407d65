// What a program asks of the elements of a tensor that it was given: whether all of a mask is set,
// whether an id is among its ids. Of whole numbers and flags: what real numbers decide is another
// thing in the next call. A few ops lead from one input to the answer, and a guard asks
// them again before each run, as plain Python would: the answer is a constant of the segment then,
// and its graph goes on. What torch.compile would refuse is refused under torch.compile.

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ops/draws.h"
#include "ops/op.h"
#include "record/objects/torch_tensor.h"
#include "record/walk.h"
#include "torch/compile_region.h"
#include "torch/element_question.h"
#include "torch/tensor_facts.h"

namespace penstock::record {

using torch::ElementQuestion;

namespace {

constexpr std::size_t kMostNodes = 12;           ///< of a question
constexpr std::size_t kMostLookedAt = 256;       ///< of the graph's nodes
constexpr std::int64_t kMostElements = 1 << 16;  ///< of every value on the way
constexpr std::size_t kMostQuestions = 4;        ///< of a segment

/// True for an op that costs little and gives the same whenever it is asked.
bool may_be_asked_again(const Node& node) {
  const ops::OpFacts* facts = ops::find_op(node.op);
  if (facts == nullptr || node.results.size() != 1 || leaves_memory_as_it_is(node.op)) return false;
  if (ops::draws(node) || facts->has(ops::kMutates) || facts->has(ops::kDataDependent))
    return false;
  switch (facts->family) {
    case ops::OpFamily::pointwise:
    case ops::OpFamily::cast:
    case ops::OpFamily::reduction:
    case ops::OpFamily::view:
    case ops::OpFamily::join:
    case ops::OpFamily::create:
    case ops::OpFamily::index:
      return true;
    default:
      return false;
  }
}

bool is_small(const TensorType& type) {
  std::int64_t elements = 1;
  for (const SymExpr& size : type.sizes) {
    const auto number = size.constant();
    if (!number || *number > kMostElements) return false;
    elements *= *number;
    if (elements > kMostElements) return false;
  }
  return true;
}

/// True where no size among the arguments is a symbol.
bool has_plain_sizes(const Argument& argument) {
  if (const auto* sequence = argument.as<Argument::Sequence>())
    return std::ranges::all_of(sequence->items, has_plain_sizes);
  const auto* size = argument.as<SymExpr>();
  return size == nullptr || size->is_constant();
}

/// The nodes that lead to `answer`, if they come of one input of the segment.
std::optional<ElementQuestion> question_of(Walk& walk, ValueId answer) {
  const Graph& graph = walk.recorder.graph();
  std::unordered_set<ValueId> needed = {answer};
  ElementQuestion question;
  question.answer = answer;
  std::size_t looked_at = 0;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (++looked_at > kMostLookedAt) return std::nullopt;
    const bool leads_there =
        std::ranges::any_of(node->results, [&](ValueId result) { return needed.contains(result); });
    if (!leads_there) continue;
    if (!may_be_asked_again(*node) || question.nodes.size() == kMostNodes ||
        !is_small(graph.values[node->results[0]].type) ||
        !walk.recorder.is_untouched(node->results[0]))
      return std::nullopt;
    needed.erase(node->results[0]);
    for (const NamedArgument& argument : node->args) {
      if (!has_plain_sizes(argument.value)) return std::nullopt;
      for_each_value(argument.value, [&](ValueId id) { needed.insert(id); });
    }
    question.nodes.push_back(*node);
  }
  if (needed.size() != 1 || !walk.recorder.is_input(*needed.begin())) return std::nullopt;
  question.input = *needed.begin();
  std::ranges::reverse(question.nodes);
  return question;
}

/// What was answered where, in all recordings. Where it was answered both ways, the elements decide
/// in earnest, and a guard would only fail; so it would where a loop asks on and on.
class AnswersGiven {
 public:
  /// False where no guard should stand for the answer.
  bool may_stand(const RaisePlace& place, bool answer, const Walk& walk) {
    constexpr int kMostInSegment = 2;
    auto [found, added] = given_.try_emplace(place, Given{answer, false, &walk, 0});
    Given& known = found->second;
    if (known.segment != &walk) known.in_segment = 0;
    known.segment = &walk;
    known.varies = known.varies || known.answer != answer || ++known.in_segment > kMostInSegment;
    return !known.varies;
  }

 private:
  struct Given {
    bool answer, varies;
    const Walk* segment;  ///< the last one that asked, to be compared alone
    int in_segment;       ///< how often it did
  };
  std::map<RaisePlace, Given> given_;
};

AnswersGiven& answers_given() {
  static AnswersGiven answers;  // with the GIL held
  return answers;
}

}  // namespace

std::optional<bool> ask_elements(Walk& walk, Operand tensor) {
  if (!tensor.shadow.is(Shadow::Kind::node) || !walk.is_tensor(tensor.object)) return std::nullopt;
  if (torch::in_compiled_region() || walk.context.for_backend() ||
      walk.recorder.grid.has(tensor.shadow.index) || walk.facts.questions() >= kMostQuestions)
    return std::nullopt;
  const TensorType& type = walk.recorder.value(tensor.shadow.index).type;
  if (type.dtype != DType::bool_ || !is_small(type)) return std::nullopt;
  auto question = question_of(walk, tensor.shadow.index);
  if (!question) return std::nullopt;
  const ValueId input = question->input;
  const SourceId source = walk.recorder.input_of(input).source;
  const DType elements = walk.recorder.value(input).type.dtype;
  if (is_floating(elements) || is_complex(elements)) return std::nullopt;
  if (source == kNoSource || walk.recorder.is_number(input) || walk.recorder.is_written(input) ||
      !is_small(walk.recorder.value(input).type))
    return std::nullopt;
  const int truth = PyObject_IsTrue(tensor.object);
  RaisePlace place = walk.program_place(walk.innermost());
  place.path = walk.innermost()->path;  // a library asks for many models, each its own
  if (truth >= 0 && !answers_given().may_stand(place, truth == 1, walk)) return std::nullopt;
  python::PyRef asked = truth < 0 ? python::PyRef() : torch::make_question(std::move(*question));
  if (!asked) {
    PyErr_Clear();
    return std::nullopt;
  }
  walk.facts.ask_question(source, std::move(asked), truth == 1);
  return truth == 1;
}

}  // namespace penstock::record
