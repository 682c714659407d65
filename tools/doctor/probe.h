#pragma once

namespace penstock::tools {

/// The program that a trial runs: probe.py, as text.
extern const char kProbe[];

}  // namespace penstock::tools
