#pragma once

#include "graph_builder.h"
#include "ir/subgraphs.h"

namespace penstock {

/// floor(x * 2) * 3, where the gradient of x * 2 is what comes for the floor, times x, plus the
/// floor. The floor and x are saved.
inline Graph custom_vjp_graph() {
  GraphBuilder b;
  const ValueId x = b.input({4}), twice = b.binary("mul", x, 2.0), floor = b.unary("floor", twice);
  const auto list = [](std::vector<Argument> items) {
    return Argument(Argument::Sequence{Argument::Sequence::Kind::list, std::move(items)});
  };
  const ValueId given = b.node(
      "prim.custom_vjp",
      {{"operands", list({Argument::Value{floor}, Argument::Value{twice}, Argument::Value{x}})},
       {"saved", list({std::int64_t{0}, std::int64_t{2}})},
       {"backward", std::string("back")}},
      b.graph.values[floor].type);
  b.output(b.binary("mul", given, 3.0));
  GraphBuilder back;
  const ValueId tangent = back.input({4}), result = back.input({4});
  back.input({4});
  const ValueId saved = back.input({4});
  back.output(back.binary("add", back.binary("mul", tangent, Argument::Value{saved}),
                          Argument::Value{result}));
  back.graph.interface.name = "back";
  b.graph.subgraphs.push_back(std::move(back.graph));
  inherit_sizes(b.graph);
  return std::move(b.graph);
}

}  // namespace penstock
