#pragma once

#include <string>

namespace penstock::tools {

/// Whether a word of `run`'s command line names a Python program and no documents: what python
/// itself takes. Where the name does not tell (.py and the like, .json, .cbor), the first bytes do:
/// those of JSON, CBOR and packed files are documents. What can be read only once, as a named pipe,
/// is documents; but standard input, "-", is looked into without being read.
bool names_program(const std::string& word);

/// Whether the word names a file that holds documents for certain.
bool names_documents(const std::string& word);

}  // namespace penstock::tools
