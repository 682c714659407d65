#pragma once

#include <exception>
#include <new>
#include <type_traits>

#include "diag/diagnostic.h"

namespace penstock::jit {

/// Runs `work`, which gives a Result; an exception that escapes it (memory, a library) is one, too:
/// libcore throws none, but what it calls may.
template <class Work>
std::invoke_result_t<Work> without_exceptions(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failure(Code::PS0505, "out of memory");
  } catch (const std::exception& error) {
    return failure(Code::PS0505, error.what());
  } catch (...) {
    return failure(Code::PS0505, "an exception of unknown type");
  }
}

}  // namespace penstock::jit
