// What nearly every file includes of the standard library, and fmt: parsed once for all of them
// (meson.build). A file still includes what it uses; nothing of ours stands here, so that a change
// compiles no more than what includes it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
