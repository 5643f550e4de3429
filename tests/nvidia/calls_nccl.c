// SPDX-License-Identifier: MIT
/* Stands for a library that would call NCCL if it were there. */
__attribute__((weak)) int ncclCommInitRank(void);
int call_nccl(void);
__attribute__((visibility("default"))) int call_nccl(void)
{
	return ncclCommInitRank ? ncclCommInitRank() : -1;
}
