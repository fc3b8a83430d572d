#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Self-test of tools/dev/check_layers.py: a small good tree passes, and each bad file added to it is
refused with a line that names the file, the line and the reason. Bad words are spelled in pieces,
since this file is checked too."""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
CHECK = os.path.join(ROOT, "tools", "dev", "check_layers.py")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(CHECK))
from check_layers import check_tree  # noqa: E402
SPDX = "/* SPDX-License-Identifier: BSD-2-Clause */\n"

GOOD = {
    "src/base/bytes.h": SPDX + "#include <stdint.h>\n",
    "src/wire/icrc.c": SPDX + '#include "base/bytes.h"\n#include <string.h>\n'
                       '/* printf() and malloc() in a comment, and errno */\n'
                       'static const char *const text = "time(";\n'
                       "void f(void)\n{\n\tops->read(1);\n\tops.write(2);\n\troce_time(3);\n}\n",
    "src/wire/icrc_test.c": SPDX + "#include <stdio.h>\nvoid g(void)\n{\n\tprintf(text);\n}\n",
    "src/transport/qp.c": SPDX + '#include "cc/window.h"\n#include "mem/mem.h"\n#include <errno.h>\n',
    "src/pktio/pktio.h": SPDX + '#include "wire/icrc.h"\n#include <time.h>\n',
    "src/base/clock.h": SPDX + "#include <time.h>\nlong f(void)\n{\n\treturn time(0);\n}\n",
    "src/engine/a.c": SPDX + '#include "base/clock.h"\n',
    "src/pktio/clock.c": SPDX + "long f(void)\n{\n\treturn time(0);\n}\n",
    "tools/x.py": "#!/usr/bin/env python3\n# SPDX-License-Identifier: BSD-2-Clause\n",
    "ARCHITECTURE.md": "See `src/wire/icrc.c`, wire/icrc.c:f, bytes.h, `src/base/` and X_test.c.\n",
}

# (file, its text, the line of the offence, a part of the message)
BAD = [
    ("src/base/a.h", SPDX + '#include "wire/icrc.h"\n', 2, "base includes wire/icrc.h"),
    ("src/wire/a.c", SPDX + '#include "mem/mem.h"\n', 2, "wire includes mem/mem.h"),
    ("src/wire/a.c", SPDX + '#include "../base/bytes.h"\n', 2, "give the path from src/"),
    ("src/transport/a.c", SPDX + '#include "cc/dcqcn.h"\n', 2, "transport includes cc/dcqcn.h"),
    ("src/sim/a.c", SPDX + '#include "transport/qp.h"\n', 2, "sim includes transport/qp.h"),
    ("src/sim/a.c", SPDX + '#include "pktio/pktio.h"\n', 2, "sim includes pktio/pktio.h"),
    ("src/transport/a.c", SPDX + '#include "base/clock.h"\n', 2, "transport includes base/clock.h"),
    ("src/base/a.h", SPDX + '#include "base/clock.h"\n', 2, "base includes base/clock.h"),
    ("src/engine/a.c", SPDX + '#include "sim/link.h"\n', 2, "engine includes sim/link.h"),
    ("src/control/a.c", SPDX + '#include "wire/icrc.h"\n', 2, "control includes wire/icrc.h"),
    ("src/compat/v/a.c", SPDX + '#include "pktio/pktio.h"\n', 2, "compat includes pktio/pktio.h"),
    ("src/newlayer/a.c", SPDX, 1, "is no layer"),
    ("src/mem/a.c", SPDX + "#include <stdlib.h>\n", 2, "mem includes <stdlib.h>"),
    ("src/cc/a.c", SPDX + "#include <sys/socket.h>\n", 2, "cc includes <sys/socket.h>"),
    ("src/daemon/a.c", SPDX + '#include "engine/lease.h"\n', 2, "daemon includes engine/lease.h"),
    ("src/wq/a.c", SPDX + "int f(void)\n{\n\treturn errno;\n}\n", 4, "errno in wq"),
    ("src/base/a.c", SPDX + "void f(void)\n{\n\tsprintf(a, b);\n}\n", 4, "use snprintf"),
    ("src/daemon/a.c", SPDX + "void f(void)\n{\n\tstrcpy(a, b);\n}\n", 4, "use snprintf or memcpy"),
    ("src/wire/a_test.c", SPDX + "int f(void)\n{\n\treturn rand();\n}\n", 4, "base/prng.h"),
    ("src/base/a.c", "/* no licence line */\n", 1, "SPDX"),
    ("tools/a.sh", "#!/bin/sh\ntrue\n", 1, "SPDX"),
    ("tools/dev/hooks/a", "#!/bin/sh\ntrue\n", 1, "SPDX"),
    ("src/base/CMakeLists.txt", "\n", 1, "SPDX"),
    ("src/base/a.c", SPDX + "/* TO" + "DO later */\n", 2, "unfinished"),
    ("docs/a.md", "FIX" + "ME\n", 1, "unfinished"),
    ("src/base/a.c", SPDX + "\n#if " + "0\n#endif\n", 3, "switched off"),
    ("src/base/a.c", SPDX + "void f(void)\n{\n\tif (" + "false)\n\t\tg();\n}\n", 4, "switched off"),
    ("tools/a.sh", "# SPDX-License-Identifier: BSD-2-Clause\ncd /work" + "/main\n", 2, "machine"),
    ("docs/a.md", "Good enough for " + "now.\n", 1, "apology"),
    ("ARCHITECTURE.md", "`src/wire/gone.c`\n", 1, "file src/wire/gone.c does not exist"),
    ("ARCHITECTURE.md", "\ngone.h is the place\n", 2, "file gone.h does not exist"),
    ("ARCHITECTURE.md", "src/gone/ holds it\n", 1, "folder src/gone/ does not exist"),
    ("ARCHITECTURE.md", "wire/icrc.c:absent_function\n", 1, "has no absent_function"),
    ("docs/a.c", "\udcff", 1, "not UTF-8"),
]
for call in ("clock_gettime(0, 0)", "time(0)", "random()", "malloc(1)", "free(p)", "printf(p)",
             "snprintf(p, 1, p)", "pthread_mutex_lock(&m)", "socket(1, 2, 3)", "sendmsg(1, 2, 3)",
             "epoll_wait(1, 2, 3, 4)", "mmap(0)", "abort()"):
    for layer in ("base", "wire", "mem", "wq", "cc", "transport"):
        BAD.append((f"src/{layer}/a.c", SPDX + "void f(void)\n{\n\tx = " + call + ";\n}\n", 4,
                    f"{call.split('(')[0]}() in {layer}: use "))


def write_tree(root, files):
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as f:
            f.write(text.encode("utf-8", "surrogateescape"))


def offences_of(files):
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, files)
        return check_tree(root)[0]


def exit_status_of(files):
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, files)
        return subprocess.run([sys.executable, CHECK, "--root", root], check=False,
                              stdout=subprocess.DEVNULL).returncode


def main():
    failed = 0
    offences = offences_of(GOOD)
    if offences:
        print("the good tree is refused:\n" + "\n".join(offences))
        failed += 1
    for path, text, line, message in BAD:
        offences = offences_of({**GOOD, path: text})
        if not any(o.startswith(f"{path}:{line}: ") and message in o for o in offences):
            print(f"wanted `{path}:{line}: ... {message}`, got {offences}")
            failed += 1
    if exit_status_of(GOOD) != 0 or exit_status_of({**GOOD, BAD[0][0]: BAD[0][1]}) != 1:
        print("the exit status does not tell a good tree from a bad one")
        failed += 1
    print(f"{len(BAD) + 2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
