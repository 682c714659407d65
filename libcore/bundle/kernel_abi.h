/* What a compiled kernel is called with. Plain C: generated code, the runtime and a debugger agree
 * on this file alone. */
#ifndef PENSTOCK_KERNEL_ABI_H
#define PENSTOCK_KERNEL_ABI_H

#include <stdint.h>

/* Raised when the signature or the meaning of an argument changes. Stands in every bundle and, as
 * the symbol penstock_abi_version (const int32_t), in every ELF. */
#define PENSTOCK_KERNEL_ABI 1

/* Runs the iterations [begin, end) of the kernel's outermost loop (0, 1 for a kernel that has no
 * parallel loop).
 *
 * buffers   one pointer per buffer of the kernel, to the start of its memory: an input's data
 * pointer, an output's, the arena plus the temporary's offset; 64-byte aligned for all but inputs
 * symbols   values of the bundle's symbols, in order
 * scratch   per-thread memory of the kernel's scratch_bytes, 64-byte aligned, or null
 *
 * A kernel touches nothing else, calls nothing and cannot fail. */
typedef void (*penstock_kernel)(void* const* buffers, const int64_t* symbols, int64_t begin,
                                int64_t end, void* scratch);

#endif
