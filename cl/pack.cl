/* pack.cl - floats as numbers of 16 bits, and back.
 *
 * Layout: flat.
 * Work-group: WG items, which have RUN elements each.
 * Defines: WG, 1 on CPU devices.
 * Numerics: bf16, rounded to the nearest, ties to even (bf16.clh).
 * Writes: to whole. */
#include "elements.clh"
// needs the header above
#include "bf16.clh"

// to[i] = bf16(from[i])
WORK_GROUP(WG, 1, 1)
kernel void pack_bf16(global ushort *restrict to, global const float *restrict from,
                      int n)
{
    EACH_ELEMENT(i, n)
    {
        uint bits = as_uint(from[i]);
        BF16_BITS(uint, bits)
        to[i] = (ushort)(bits >> 16);
    }
}

// to[i] = from[i]
WORK_GROUP(WG, 1, 1)
kernel void unpack_bf16(global float *restrict to, global const ushort *restrict from,
                        int n)
{
    EACH_ELEMENT(i, n)
    {
        to[i] = as_float((uint)from[i] << 16);
    }
}
