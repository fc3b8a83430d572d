#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Self-test of the marks: compiles a program with two marks and the collector, and marks.py must
fail for the one that a run does not reach, pass once a second run has, and refuse a name used
twice. Usage: marks_test.py C_COMPILER"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PROGRAM = """
#include "base/marks.h"
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return ROCE_MARKED(test_rare, 0);
	else
		ROCE_MARK(test_usual);
	return 0;
}
"""


def judge(root, build):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/dev/marks.py"), "--root", root,
                           build], check=False, stdout=subprocess.PIPE)
    return done.returncode, done.stdout.decode()


def require(holds, what, output):
    if not holds:
        print(f"{what}; got:\n{output}")
        sys.exit(1)


def main():
    with tempfile.TemporaryDirectory() as root:
        source = os.path.join(root, "src", "a.c")
        program = os.path.join(root, "a")
        os.makedirs(os.path.dirname(source))
        with open(source, "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        subprocess.run([sys.argv[1], "-std=gnu17", "-D_GNU_SOURCE", "-DROCE_DEBUG=1",
                        "-I", os.path.join(ROOT, "src"), source,
                        os.path.join(ROOT, "tests/marks/collect.c"), "-o", program], check=True)
        env = {**os.environ, "UROCE_MARKS": os.path.join(root, "marks")}
        status, output = judge(root, root)
        require(status == 1 and "test_usual" in output, "without a run both are missing", output)
        subprocess.run([program], check=True, env=env)
        status, output = judge(root, root)
        require(status == 1 and "src/a.c:7: mark test_rare was hit by no test" in output
                and "test_usual" not in output, "the rare one is missing", output)
        subprocess.run([program, "rare"], check=True, env=env)
        status, output = judge(root, root)
        require(status == 0, "both are hit", output)
        with open(source, "a", encoding="utf-8") as f:
            f.write("void g(void)\n{\n\tROCE_MARK(test_usual);\n}\n")
        status, output = judge(root, root)
        require(status == 1 and "stands at" in output, "a name at two places is refused", output)
    print("ok")


if __name__ == "__main__":
    main()
