#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "diag/diagnostic.h"
#include "ir/argument.h"

namespace penstock {

/// How a value of the graph is written in text; null: "%3".
using ValueName = std::function<std::string(ValueId)>;

/// `argument` as Python would print it: "[1, 2]", "'sum'", "torch.float32", "device('cpu')",
/// "slice(None, 3, None)", "<torch.relu>" for a named object. Sizes are bare: "2*s0+1".
std::string to_string(const Argument& argument, const ValueName& value_name = {});

/// `text` between single quotes, escaped as Python's repr does; bytes from 0x80 stay as they are.
std::string quote(std::string_view text);

/// The shortest text that reads back as exactly `number`, with a point or exponent: "1.0", "1e-05",
/// "float('nan')".
std::string to_string_exact(double number);

/// Reads a literal at the start of `text` and cuts it off. Understands what `to_string` writes but
/// values and size expressions.
Result<Argument> parse_literal(std::string_view& text);

}  // namespace penstock
