#pragma once

#include <string>
#include <string_view>

#include "store/store.h"

namespace penstock::store {

/// Which machine code a user's store has made itself, or was told to trust.
///
/// A record is an empty file of the store, trusted/ab/abcdef…, whose name is a keyed hash of what
/// the code was made for and of the code. The key, random bytes in the store's file `key`, is the
/// user's alone: who cannot read it cannot make a record, and one that was made with another key
/// does not count.
class Trust {
 public:
  explicit Trust(const Store& store) : directory_(store.directory()) {}

  /// From now on code `code` is trusted for what `statement` says of its calls. PS0210 when it
  /// cannot be written.
  Result<void> allow(std::string_view statement, std::string_view code);
  bool allows(std::string_view statement, std::string_view code) const;

 private:
  std::string record_path(std::string_view key, std::string_view statement,
                          std::string_view code) const;
  std::string key() const;  ///< empty: there is none that can be relied on
  Result<std::string> make_key();

  std::string directory_;
};

}  // namespace penstock::store
