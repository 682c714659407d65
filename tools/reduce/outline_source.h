#pragma once

namespace penstock::tools {

/// outline.py, as text.
extern const char kOutline[];

}  // namespace penstock::tools
