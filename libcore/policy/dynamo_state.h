#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::policy {

/// What the program told TorchDynamo of a function (torch._dynamo.allow_in_graph,
/// disallow_in_graph).
enum class InGraph : std::uint8_t {
  undecided,
  whole,  ///< a graph has its calls as one
  never,  ///< no graph has them
};

/// Asked of any callable; runs no Python code.
InGraph in_graph(PyObject* callable);

/// Counts a graph of so many calls in torch._dynamo.utils.counters, if the program has imported
/// that.
void count_graph(std::size_t calls);
/// Counts the end of a graph there.
void count_graph_break(const std::string& reason);

}  // namespace penstock::policy
