#pragma once

#include "tools/common/launch.h"
#include "tools/common/output.h"

namespace penstock::live {

/// Serves a Python that runs already, at the other end of `socket`, until it is gone: what `run` is
/// for a program of its own. The documents are kept in `documents`.
///
/// First that Python is sent {"parts": FOLDER} and three descriptors: settings, shared memory,
/// documents. Then each of its lines is a request, a JSON object, and is answered by a line
/// {"bytes": N} and N bytes, or by {"error": SENTENCE, "hint": SENTENCE}:
///   {"ask": "files", "names": {NAME: OTHER}}   what files are called (LiveReport::call_files)
///   {"ask": "mark"}                            since: true counts from here on
///   {"ask": "report", "as": "html" | "text" | "summary" | "json", "since": BOOL, "width": N}
///   {"ask": "refusal"}                         why the extension did not start
/// The outcome is what the shared memory held at the end.
Result<tools::LaunchOutcome> attach(const tools::LaunchOptions& options, tools::Output& documents,
                                    int socket);

}  // namespace penstock::live
