#pragma once

#include "ops/rules/inference.h"

namespace penstock::ops::rules {

// One rule per name in column `rule` of ops.def; a name that no file of this folder defines does
// not link, so the table is complete by construction.
#define PS_OP(id, name, family, flags, rule, reference) void rule(Inference&);
#include "ops/ops.def"
#undef PS_OP

// Prims: one rule per group of prims.def, but for those whose shape is their own.
void prim_pointwise(Inference&);
void prim_convert(Inference&);
void prim_clone(Inference&);
void prim_view(Inference&);
void prim_reduce(Inference&);
void prim_scan(Inference&);
void prim_create(Inference&);
void prim_join(Inference&);
void prim_index(Inference&);
void prim_copy(Inference&);
void prim_check_index(Inference&);
void prim_decide(Inference&);
void prim_bernoulli(Inference&);
void prim_control(Inference&);

}  // namespace penstock::ops::rules
