#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/diff.h"

namespace penstock::formats {

/// A graph of a stream, ready to be compared.
struct ComparedGraph {
  const GraphDocument* document = nullptr;
  DiffItems items;
  std::uint64_t hash = 0;     ///< of its structure
  std::int32_t partner = -1;  ///< position in the other stream; -1: none

  std::string id() const { return to_string(interface_of(*document).id); }
  const std::string& name() const { return interface_of(*document).name; }
};

/// The graphs of `documents`, without partners. They stand in `documents`, which must outlive them.
std::vector<ComparedGraph> graphs_of(const std::vector<Document>& documents);

/// Says of each graph which one of the other stream it is now.
void pair_graphs(std::vector<ComparedGraph>& before, std::vector<ComparedGraph>& after);

}  // namespace penstock::formats
