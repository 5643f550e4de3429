# SPDX-License-Identifier: MIT
# The page of the demo's report as a string of C: a literal for each line.
s/[\"]/\\&/g
s/.*/\t"&\\n"/
1i /* SPDX-License-Identifier: MIT */
1i extern const char demo_page[];
1i const char demo_page[] =
$a \\t;
