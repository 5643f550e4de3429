/* SPDX-License-Identifier: MIT */
/* Can this compiler build a kernel at all? */
__kernel void probe(__global int *out)
{
	*out = 1;
}
