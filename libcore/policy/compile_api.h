#pragma once

#include <string>

#include "ir/call_rules.h"
#include "python/frame.h"

namespace penstock::policy {

/// What a function is to torch.compile and its kin.
enum class Served : std::uint8_t {
  none,
  handler,       ///< an entry point: compile_api_source.py has a handler of its name
  is_compiling,  ///< torch.compiler.is_compiling
  graph_break,   ///< torch._dynamo.graph_break
  own,           ///< other code of ours, always native
  compiled,
  fullgraph,
  disabled,  ///< the function that stands around a region
};

/// True for the functions that stand around regions.
constexpr bool is_region(Served served) {
  return served >= Served::compiled;
}

/// torch.compile, torch._dynamo.optimize, torch.compiler.disable and their kin, taken over where
/// the program calls them: neither Dynamo nor Inductor starts, a function stays a plain callable
/// whose tensor code is compiled like any other. What it gives back is what torch gives back to
/// look at: a function with the attributes of torch's, an OptimizedModule. Around the region stands
/// a function of ours that the walker knows, which is how options of the region (fullgraph) and
/// torch.compiler.is_compiling() are known inside. Which functions are answered stands in
/// capture.rules.
///
/// Nothing in torch is replaced: the walker sees the calls' frames and ends them with our result.
class CompileApi {
 public:
  CompileApi() = default;
  CompileApi(const CompileApi&) = delete;
  CompileApi& operator=(const CompileApi&) = delete;

  /// What code of ours is; none for all other code.
  Served own(PyCodeObject* code, PyObject* globals) const;

  /// Answers the call that `frame` (linked, at its first instruction) stands for, whose rule says
  /// `serve`. False: torch does it. True: `result` is its result, or null with an error set.
  bool serve(python::Frame& frame, const CallRule& rule, python::PyRef& result);

  /// The exception that torch raises where a region is to be one graph and is not (null: `result`'s
  /// error is set). Imports torch._dynamo.exc.
  python::PyRef unsupported(const std::string& kind, const std::string& explanation,
                            const std::string& hint, const std::string& file, int line,
                            const std::string& name);

 private:
  PyObject* handlers();

  python::PyRef globals_;
  bool failed_ = false;
};

/// The Python code behind it: compile_api_source.py.
extern const char kCompileApiSource[];

}  // namespace penstock::policy
