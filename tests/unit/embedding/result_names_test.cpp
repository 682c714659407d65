#include "embedding/result_names.h"

#include <doctest/doctest.h>

using namespace penstock;
using embedding::result_names;

namespace {

using Kind = Recipe::Kind;
using Names = std::vector<std::string>;

Recipe of(Kind kind, std::vector<Recipe> items) {
  Recipe recipe;
  recipe.kind = kind;
  recipe.items = std::move(items);
  return recipe;
}

Recipe numbered(Kind kind, std::int32_t index) {
  Recipe recipe;
  recipe.kind = kind;
  recipe.index = index;
  return recipe;
}

Recipe output(std::int32_t index) {
  return numbered(Kind::output, index);
}

Recipe text(const std::string& value) {
  Recipe recipe;
  recipe.literal = Argument{value};
  return recipe;
}

Interface returning(Recipe returns, std::size_t outputs) {
  Interface interface;
  interface.returns = std::move(returns);
  interface.outputs.resize(outputs);
  return interface;
}

}  // namespace

TEST_CASE("what is returned itself is the result") {
  CHECK(result_names(returning(output(0), 1)) == Names{"result"});
}

TEST_CASE("the way to a tensor is its name") {
  Recipe dict = of(Kind::dict, {text("logits"), output(1), text("past"),
                                of(Kind::list, {output(0), of(Kind::tuple, {output(2)})})});
  CHECK(result_names(returning(dict, 3)) == Names{"past.0", "logits", "past.1.0"});
  CHECK(result_names(returning(of(Kind::tuple, {dict, output(3)}), 4)) ==
        Names{"0.past.0", "0.logits", "0.past.1.0", "1"});
}

TEST_CASE("objects have fields, and dicts of a class of their own have keys besides") {
  Recipe plain =
      of(Kind::instance, {text("Pair"), text("low"), output(0), text("high"), output(1)});
  CHECK(result_names(returning(plain, 2)) == Names{"low", "high"});
  Recipe keyed = of(Kind::instance, {text("Output"), of(Kind::dict, {text("logits"), output(0)}),
                                     text("loss"), output(1)});
  CHECK(result_names(returning(keyed, 2)) == Names{"logits", "loss"});
}

TEST_CASE("a named tuple has positions, by the call that makes it") {
  Recipe made = of(Kind::call,
                   {text("tuple.__new__"), text("Pair"), of(Kind::tuple, {output(0), output(1)})});
  CHECK(result_names(returning(made, 2)) == Names{"0", "1"});
}

TEST_CASE("objects that hold each other end") {
  Interface interface = returning(numbered(Kind::object, 0), 1);
  interface.objects = {of(Kind::list, {numbered(Kind::object, 0), output(0)})};
  CHECK(result_names(interface).size() == 1);
}

TEST_CASE("new values have the names of what is written, and no name stands for two") {
  Interface interface = returning(of(Kind::dict, {text("x"), output(0)}), 3);
  interface.inputs.resize(1);
  interface.inputs[0].name = "x";
  interface.mutations = {{0, 1}};
  CHECK(result_names(interface) == Names{"x", "x_1", "2"});
}
