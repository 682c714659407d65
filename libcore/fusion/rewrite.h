#pragma once

#include "fusion/fusion_plan.h"
#include "fusion/loop_program.h"
#include "partition/placed_graph.h"

// The passes of fuse: over the placed graph, the plan and the loop program. Each has its name in
// the stage's table, and its file. Each leaves a program that computes the same.
namespace penstock::fusion {

/// Copies images and weights that a GPU's library is to convolve, and that lie otherwise than it
/// takes them. Needs: a verified placed graph. Leaves: more nodes.
void copy_images(PlacedGraph& placed);

/// Lays the results of convolutions, and what is computed from them, out channels-last: changes the
/// strides of values' types. Needs: a verified placed graph.
void lay_out_images(PlacedGraph& placed);

/// The same where only the first `own_outputs` outputs lie as the program says.
void lay_out_images(PlacedGraph& placed, std::size_t own_outputs);

/// Gives every value a role: views are views, numbers made from nothing are inlined, everything
/// else that is compiled is a root with a group of its own. Needs: make_plan. Leaves: a plan that
/// stores whatever it computes; buffers of inputs, library and fallback calls; accesses.
void give_roles(FusionPlan& plan);

/// Computes values where they are used, instead of storing them, when that moves fewer bytes and
/// costs little arithmetic. Needs: give_roles. Leaves: fewer roots, accesses.
void inline_values(FusionPlan& plan);

/// Lets scatters write into the inputs that their results end up in, instead of copying these
/// twice. Needs: final roles, find_accesses. Leaves: fewer copies, accesses.
void update_inputs(FusionPlan& plan);

/// Has long chains of slices that are written one over the other written, not selected from; those
/// too that end up in an input. Needs: every value's role, as give_roles gives it. Leaves:
/// scatters.
void write_chains(FusionPlan& plan);

/// Lets scatters write over what they change, where nothing else needs that any more. Needs: final
/// roles, find_accesses. Leaves: chains of scatters in one memory, accesses.
void overwrite_chains(FusionPlan& plan);

/// Puts a reduction, what is computed from it and what it is computed from under common outer
/// loops, one row after the other: softmax, layer_norm. Needs: find_accesses. Leaves: larger
/// groups.
void nest_rows(FusionPlan& plan);

/// Computes roots of equal sizes in one loop nest, when one reads the other or both read the same
/// memory. Needs: find_accesses. Leaves: larger groups.
void zip_ranges(FusionPlan& plan);

/// Keeps what a group would compute expensively in several inner loops in a row of scratch memory.
/// Needs: final groups.
void keep_rows(FusionPlan& plan);

/// Takes out of kernels what a convolution can apply to its result. Needs: one loop for each dim.
/// Leaves: more kernels, which fuse_epilogues moves into the calls.
void detach_activations(LoopProgram& program);

/// Moves pointwise kernels behind a library call's result into the call. Needs: one loop for each
/// dim. Leaves: fewer kernels; calls with post-ops.
void fuse_epilogues(LoopProgram& program);

/// Lets a GPU's library write products to rows that begin at multiples of 16 bytes, where the
/// result's do not. Needs: all post-ops in their calls. Leaves: temporaries, and kernels that copy
/// them.
void pad_products(LoopProgram& program);

/// Merges inner loops of equal range that stand side by side, where no iteration needs a later one.
void zip_loops(LoopProgram& program);

/// Splits loops whose indices divide their variable, so that every access is affine.
void split_loops(LoopProgram& program);

/// Merges loops that walk memory as one loop would.
void collapse_loops(LoopProgram& program);

/// Moves what depends on parameters alone out of the arena, into memory that stays between runs.
/// Needs: all steps final.
void prepare_parameters(LoopProgram& program);

/// Chooses what runs in parallel and in vectors. Leaves: schedules; nothing else changes.
void schedule_loops(LoopProgram& program);

/// The same for a program whose kernels run on a device: which of its threads take which
/// iterations.
void schedule_device(LoopProgram& program);

/// Drops temporaries, and views, that no step names any more. Leaves: other numbers of buffers.
void drop_unused_buffers(LoopProgram& program);

/// Gives temporaries places in one arena, and drops those that nothing uses. Needs: all steps
/// final.
void plan_memory(LoopProgram& program);

}  // namespace penstock::fusion
