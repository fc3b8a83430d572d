/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that is needed, of which got_test.c looks at the name only. */
int needed(void);

__attribute__((visibility("default"))) int needed(void)
{
	return 0;
}
