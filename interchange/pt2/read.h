#pragma once

#include <string>

#include "formats/archive.h"
#include "formats/document.h"
#include "interchange/pt2/weights.h"

namespace penstock::pt2 {

/// Whether the file at `path` is an archive of torch.export.save, or looks like one that is
/// damaged.
bool is_pt2(const std::string& path);

/// The graph of the one program in an archive of torch.export.save (torch 2.11 to 2.15, schema
/// version 8), at level torch, with the tensors that it brings along kept by `keep`. Nothing in the
/// archive is run or unpickled. Containers of arguments become guards, sizes that may be any
/// symbols, what is asked of them conditions. Errors: PS0201 and PS0208 for an archive that is
/// damaged or none, PS0203 for a schema that is not known, PS0211 for what graphs do not hold here,
/// by its name.
Result<formats::GraphDocument> read_pt2(formats::ArchiveReader& archive, const KeepTensor& keep);

}  // namespace penstock::pt2
