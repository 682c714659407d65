#pragma once

#include <string>

#include "formats/stream.h"
#include "store/store.h"
#include "tools/common/compile_limits.h"
#include "tools/common/driver.h"

namespace penstock::tools {

/// How files of torch.export are read and written.
struct Pt2Options {
  std::string store;  ///< the folder that tensors go to, or come from
  CompileLimits limits;
};

/// The one file on the command line, if it is one of torch.export.save.
std::optional<std::string> pt2_input(const Stage& stage);

/// The graphs of the file `path`: of torch.export, of a stream, or the one that an exported file
/// was compiled from, which stands in a member. `store` is --store, and `tensors` what it names.
Result<std::vector<formats::GraphDocument>> read_graphs(Stage& stage, const std::string& path,
                                                        store::Store& tensors,
                                                        const std::string& store);

/// Writes the graph of the file `path`: as documents, or compiled with its weights into the packed
/// file that -o names, where that ends with .pstk.
Result<void> convert_from_pt2(Stage& stage, const std::string& path, const Pt2Options& options,
                              const formats::WriteOptions& how);

/// Writes the one graph of the input for torch.export.load into the file that -o names. PS0101
/// where there is no such name, PS0805 where there is no graph, or several.
Result<void> convert_to_pt2(Stage& stage, const Pt2Options& options);

}  // namespace penstock::tools
