#pragma once

namespace penstock::heap {

/// Gives back the memory that the files of penstock and oneDNN take, 60 MB of them with LLVM's:
/// what is needed again is read again, from the system's cache.
void give_back_file_pages();

}  // namespace penstock::heap
