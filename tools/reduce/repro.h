#pragma once

#include <string>
#include <vector>

#include "formats/document.h"
#include "store/store.h"
#include "tools/reduce/oracle.h"

namespace penstock::tools {

/// One file that shows a failure: a packed stream, or a program, with the command that fails on it
/// and what it says then (the archive's member replay.json).
struct Repro {
  Question question;
  Answer wanted;        ///< its output stays behind
  std::string program;  ///< the text of a program; empty: it is a stream
  std::vector<formats::Document> stream;
};

/// Writes the file, with the tensors of the stream, and trusts it: who made it need not be asked.
Result<void> write_repro(const std::string& path, const Repro& repro, store::Store& store);

/// Reads such a file; its tensors go to the store that `store` (--store) names. PS0201: it is none.
Result<Repro> read_repro(const std::string& path, const std::string& store);

/// Whether the file at `path` is one, or a damaged one.
bool is_repro(const std::string& path);

/// Lets the command of the file at `path` be run by replay, as long as no byte of the file changes.
Result<void> trust_repro(const std::string& path, store::Store& store);
Result<bool> is_trusted_repro(const std::string& path, store::Store& store);

/// A command as one would type it.
std::string shell_words(const std::vector<std::string>& command);

}  // namespace penstock::tools
