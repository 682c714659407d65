/* What a kernel of a device is started with: its parameters, eight bytes each, in this order.
 *
 * - by buffer of the kernel: the address of its memory on the device, a multiple of 16; of a number
 *   that lies in the host's memory (Buffer::host) the number's bytes, in the low ones
 * - by symbol of the bundle: its value
 *
 * Blocks have as many threads as the launch says, no more and no fewer; there may be fewer blocks.
 * A kernel uses no memory but its own and what the addresses lead to, and cannot fail. */
#ifndef PENSTOCK_DEVICE_ABI_H
#define PENSTOCK_DEVICE_ABI_H

/* Raised when any of this changes; part of what a cache knows code by. */
#define PENSTOCK_DEVICE_ABI 1
/* Of addresses of buffers. */
#define PENSTOCK_DEVICE_ALIGNMENT 16

#endif
