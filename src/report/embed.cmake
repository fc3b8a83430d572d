# SPDX-License-Identifier: BSD-2-Clause
# cmake -DOUT=x.c -DHEADER=report/embedded.h -DFILES="name=path,name=path" -P embed.cmake: each file
# as an array of bytes, which HEADER declares.
set(text "/* made by embed.cmake */\n#include \"${HEADER}\"\n")
string(REPLACE "," ";" FILES "${FILES}")
foreach(pair IN LISTS FILES)
	string(REGEX REPLACE "=.*" "" name "${pair}")
	string(REGEX REPLACE "^[^=]*=" "" path "${pair}")
	file(READ "${path}" hex HEX)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
	string(APPEND text "const unsigned char ${name}[] = {${bytes}};\n"
		"const size_t ${name}_size = sizeof(${name});\n")
endforeach()
file(WRITE "${OUT}" "${text}")
