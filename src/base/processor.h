/* processor.h - what the host's processor can do. */
#pragma once

#include "base/base.h"

enum { CLA_PROCESSOR_TEXT = 64 };

/* Writes the instruction sets that programs may use here, as a text that is equal on
 * equal processors; "" where there is no way to ask. Compilers make machine code for
 * them, and a driver need not name them. */
void cla_processor_features(char text[CLA_PROCESSOR_TEXT]);

/* Return whether this process may multiply bf16 in the tiles of AMX, which the first
 * call asks the system for, and whether it may convert floats to bf16 (AVX512-BF16). */
bool cla_processor_amx(void);
bool cla_processor_bf16(void);

/* Return whether it may multiply bytes in those tiles, and in registers of so many
 * numbers of 32 bits (VNNI). */
bool cla_processor_amx_bytes(void);
bool cla_processor_vnni(int width);
