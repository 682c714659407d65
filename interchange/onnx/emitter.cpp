#include "interchange/onnx/emitter.h"

#include <fmt/format.h>

#include <utility>

#include "interchange/onnx/data.h"

namespace penstock::onnx {

Emitter::Emitter(const Graph& graph, Names names, std::vector<Name> inputs)
    : graph_(graph), names_(std::move(names)), of_value_(graph.values.size()) {
  for (std::size_t i = 0; i < inputs.size(); ++i) bind(static_cast<ValueId>(i), inputs[i]);
}

Emitter::Emitter(const Graph& subgraph, Emitter& around, std::vector<Name> inputs)
    : Emitter(subgraph, std::move(around.names_), std::move(inputs)) {
  around_ = &around;
  place_ = around.place_;
}

Name Emitter::output(ValueId id) {
  stem_ = graph_.values[id].name;
  return emit("Identity", {value(id)});
}

std::vector<Operator> Emitter::take_body() {
  if (error_) around_->fail(*error_);
  around_->names_ = std::move(names_);
  return std::move(operators_);
}

std::vector<Name> Emitter::emit_all(std::string_view type, std::vector<Name> inputs,
                                    Attributes attributes, std::size_t results) {
  Operator op;
  op.type = type;
  op.inputs = std::move(inputs);
  op.attributes = std::move(attributes);
  op.place = place_;
  for (std::size_t i = 0; i < results; ++i)
    op.outputs.push_back(names_.fresh(fmt::format("{}/{}", stem_, type)));
  op.name = op.outputs.front();
  operators_.push_back(std::move(op));
  return operators_.back().outputs;
}

Name Emitter::cast(Name x, DType to) {
  return emit("Cast", {std::move(x)}, {{"to", data_type(to)}});
}

Name Emitter::constant(DType dtype, std::vector<std::int64_t> sizes, std::string elements) {
  if (around_ != nullptr) {
    around_->names_ = std::move(names_);
    Name made = around_->constant(dtype, std::move(sizes), std::move(elements));
    names_ = std::move(around_->names_);
    return made;
  }
  std::string key = fmt::format("{}[{}]:", facts(dtype).name, fmt::join(sizes, ",")) + elements;
  auto [at, fresh] = known_constants_.try_emplace(std::move(key));
  if (fresh) {
    at->second = names_.fresh("constant");
    constants_.push_back({at->second, dtype, std::move(sizes), std::move(elements)});
  }
  return at->second;
}

Name Emitter::ints(const std::vector<std::int64_t>& values) {
  return constant(DType::int64, {static_cast<std::int64_t>(values.size())},
                  elements(DType::int64, values));
}

Name Emitter::number(double value, DType dtype) {
  return constant(dtype, {}, elements(dtype, std::vector<double>{value}));
}

Name Emitter::integer(std::int64_t value, DType dtype) {
  return constant(dtype, {}, elements(dtype, std::vector<std::int64_t>{value}));
}

Name Emitter::value(ValueId id) {
  if (id >= of_value_.size()) {
    fail("an operand is no tensor");
    return "";
  }
  if (of_value_[id].empty()) {
    const auto found = narrow_.find(id);
    if (found == narrow_.end()) {
      fail("an operand has no form here");
      return "";
    }
    of_value_[id] = emit("Expand", {found->second.name, sizes(type(id).sizes)});
  }
  return of_value_[id];
}

void Emitter::bind(ValueId id, Name name) {
  of_value_[id] = std::move(name);
  see_symbols(id);
}

void Emitter::bind_narrow(ValueId id, Name name, std::vector<SymExpr> sizes) {
  narrow_.insert_or_assign(id, Narrow{std::move(name), std::move(sizes)});
}

const Emitter::Narrow* Emitter::narrow(ValueId id) const {
  const auto found = narrow_.find(id);
  return found == narrow_.end() ? nullptr : &found->second;
}

Name Emitter::rename_since(std::size_t mark, const Name& name, std::string_view wanted) {
  for (std::size_t i = mark; i < operators_.size(); ++i) {
    for (const Name& made : operators_[i].outputs) {
      if (made != name) continue;
      const Name better = names_.fresh(wanted);
      rename_to(i, name, better);
      return better;
    }
  }
  return name;
}

void Emitter::rename_to(std::size_t mark, const Name& name, const Name& exact) {
  for (std::size_t i = mark; i < operators_.size(); ++i) {
    for (Name& used : operators_[i].inputs)
      if (used == name) used = exact;
    for (Name& made : operators_[i].outputs)
      if (made == name) made = exact;
  }
}

void Emitter::set_node(std::string_view stem, std::string place) {
  stem_ = stem;
  place_ = std::move(place);
}

void Emitter::fail(std::string message) {
  if (!error_) error_ = std::move(message);
}

}  // namespace penstock::onnx
