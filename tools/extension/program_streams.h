#pragma once

namespace penstock::tools {

/// Writes out what the program has printed, before its process ends without Python's own end:
/// Python's streams keep it in buffers of theirs. Needs the GIL; clears Python's error.
void flush_streams();

}  // namespace penstock::tools
