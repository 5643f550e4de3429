# SPDX-License-Identifier: MIT
# A page as a string of C, a literal for each line; the build puts its name before them.
s/[\"]/\\&/g
s/.*/\t"&\\n"/
1i /* SPDX-License-Identifier: MIT */
$a \\t;
