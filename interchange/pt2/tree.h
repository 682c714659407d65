#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostic.h"
#include "ir/argument.h"

namespace penstock::pt2 {

/// How Python containers hold leaves: a TreeSpec of torch.utils._pytree in its JSON form.
struct Tree {
  std::string type;     ///< "builtins.tuple"; empty: a leaf
  std::string context;  ///< JSON text, what the type says of the node: a dict's keys
  std::vector<Tree> children;
  bool is_leaf() const { return type.empty(); }
};

/// Reads what torch's treespec_dumps writes. PS0201, PS0208.
Result<Tree> read_tree(std::string_view text);
/// Writes what read_tree reads.
std::string to_text(const Tree& tree);

/// The keys of a dict's node, one a child; nothing where the context is no list of so many strings
/// and integers.
std::optional<std::vector<Argument>> keys_of(const Tree& tree);
/// A context that holds these keys.
std::string context_of(const std::vector<Argument>& keys);

std::size_t count_leaves(const Tree& tree);

}  // namespace penstock::pt2
