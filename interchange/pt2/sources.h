#pragma once

#include <string>
#include <vector>

#include "interchange/pt2/tree.h"
#include "ir/interface.h"

namespace penstock::pt2 {

/// Whether the caller passes the input: a tensor or a number.
bool is_passed(const Interface& interface, const Input& input);

/// The path of a module's tensor: "layers.0.weight" is
/// L['self'].__dict__['_modules']['layers'].__dict__['_modules']['0'].__dict__['_parameters']['weight'].
SourceId weight_source(SourceTable& sources, std::string_view name, InputKind kind);
/// The name of the tensor that such a path leads to; empty for other paths.
std::string weight_name(const SourceTable& sources, SourceId source);

/// That a buffer is not part of the module's state: its name is in the set that the module has for
/// these.
Guard temporary_buffer(SourceTable& sources, std::string_view name);
bool is_temporary(const Interface& interface, std::string_view name);

/// PS0211 for what is no pair of a tuple of arguments and a dict of keyword arguments, and for a
/// container in them that is no tuple, list, dict or OrderedDict.
Result<void> check_containers(const Tree& in);

/// Where the leaves of the containers of a call, which are (arguments, keyword arguments), come
/// from, in order. The containers themselves become guards. Positional arguments have `names`;
/// keyword arguments are members of L['kwargs'].
std::vector<SourceId> argument_places(const Tree& in, const std::vector<std::string>& names,
                                      Interface& interface);

/// A call's containers, and what its arguments are called.
struct ArgumentTree {
  Tree in;
  std::vector<std::string> names;
  std::vector<SourceId> leaves;  ///< in the order of the tree
};
/// What argument_places reads, of an interface whose sources and guards tell it. Where they do not,
/// every argument is a positional one of its own.
ArgumentTree argument_tree(const Interface& interface);

}  // namespace penstock::pt2
