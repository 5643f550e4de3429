// SPDX-License-Identifier: MIT
/* The build compiles this file to find out whether OpenCL's headers exist and have layers. */
#include <CL/cl_layer.h>

int main(void)
{
	return 0;
}
