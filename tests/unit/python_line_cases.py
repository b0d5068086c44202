"""Writes what this interpreter itself says about the lines of its library's functions, for test_python_lines.

  P version                     PY_VERSION_HEX >> 16, hexadecimal
  C first_line name table       a code object; table in hexadecimal
  L start end line              bytes start .. end-1 of its code have this line; 0: none
"""
import dis
import glob
import os
import sys
import types

CODES_MAX = 2500


def code_objects(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from code_objects(const)


def ranges(code):
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            yield start, end, line or 0
        return
    starts = list(dis.findlinestarts(code))
    for index, (start, line) in enumerate(starts):
        end = starts[index + 1][0] if index + 1 < len(starts) else len(code.co_code)
        yield start, end, line


def all_code():
    library = os.path.dirname(os.__file__)
    for path in sorted(glob.glob(os.path.join(library, "*.py"))):
        try:
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, OSError):
            continue
        yield from code_objects(code)


def main():
    version = sys.hexversion >> 16
    out = sys.stdout
    out.write("P %x\n" % version)
    for index, code in enumerate(all_code()):
        if index == CODES_MAX:
            break
        table = code.co_linetable if version >= 0x030A else code.co_lnotab
        out.write("C %d %s %s\n" % (code.co_firstlineno, code.co_name.encode("ascii", "replace").decode(), table.hex()))
        for start, end, line in ranges(code):
            out.write("L %d %d %d\n" % (start, end, line))


main()
