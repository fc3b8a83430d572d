/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text of others, before it is shown: files that were handed on, words of a peer. A terminal obeys
 * control characters, XML forbids them and some more, and JSON takes nothing but UTF-8. Called by
 * whoever puts such text into a line, a report or a record.
 */
#ifndef ROCE_BASE_PLAIN_H
#define ROCE_BASE_PLAIN_H

#include <stdbool.h>

/* Each byte of a control character (C0, C1, DEL), of U+FFFE and U+FFFF, and each that belongs to no
 * character of UTF-8 becomes '?'. The length stays. */
void roce_plain_make(char *text);
/* Whether nothing would be changed; with `has_lines` line feeds and tabs are no matter. */
bool roce_plain_is(const char *text, bool has_lines);

#endif
