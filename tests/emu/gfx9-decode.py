#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds our decoder and its text against LLVM's disassembler.

    gfx9-decode.py PROGRAM [ENCODINGS [SEED]]
    gfx9-decode.py --check-tables

For every opcode of every format, claimed or not, ENCODINGS random fillings of
its fields: PROGRAM --filter must print what llvm-mc prints, and refuse what
llvm-mc calls invalid. Skipped (77) where there is no llvm-mc of version 17 or later.

--check-tables: that scripts/gfx9-tables would write what is in the tree. Other
versions of LLVM may know more, so this takes the one the tables are from.
"""
import importlib.machinery
import importlib.util
import os
import random
import re
import shlex
import shutil
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.dont_write_bytecode = True
_loader = importlib.machinery.SourceFileLoader("gfx9_tables", os.path.join(ROOT, "scripts", "gfx9-tables"))
_spec = importlib.util.spec_from_loader("gfx9_tables", _loader)
tables = importlib.util.module_from_spec(_spec)
_loader.exec_module(tables)

# Where we refuse what LLVM takes. All else must agree.
REFUSED = [
    # pattern of the format and LLVM's text, reason
    (r"\bnull\b", "GFX9 has no null register: the number is reserved"),
    (r"\bsrc_pops_exiting_wave_id\b", "belongs to pixel shaders"),
    (r"\bsrc_lds_direct\b", "belongs to pixel shaders"),
    (r"^(VOP3|\S*DPP) .*\bsext\(", "only SDWA has this modifier"),
    (r" v_(readfirstlane|swap|accvgpr_(read|mov)|s?mfma).*\bsrc_", "such registers are no vector registers"),
    (r" (v_readlane_b32 \S+|v_mqsad_u32_u8 \S+ \S+ \S+) src_", "such registers are no vector registers"),
    (r" (v_cmpx?_|v_readlane|v_readfirstlane)\S* src_", "such registers cannot be written"),
    (r" (s_movrels|s_setpc|s_rfe_b64|s_cbranch_join)\S* (\S*, )?src_", "such registers cannot be addressed"),
    (r" v_(cndmask|addc_co|subb_co|subbrev_co)\S*_e64 .*, src_\w+( clamp)?$", "such registers are no lane masks"),
    (r"_(SDWA|DPP) v_(nop|clrexcp)\b", "without operands there is nothing to select"),
]
# What LLVM crashes on, so it is not asked: SDWA selections and treatments of unused bits that do not exist.
NOT_ASKED = "SDWA sel 7 and unused 3"
TABLES_VERSION = 19
LITERALS = [0, 1, 64, 65, 0xFFFFFFFF, 0xFFFFFFF0, 0xFFFFFFEF, 0x3F800000, 0x3FF00000, 0x3C00, 0x3118, 0x3E22F983,
            0x3FC45F30, 0xC0800000, 0x8000, 0xFFFF]


def find_llvm_mc(exact=None):
    """An llvm-mc that is new enough and knows the targets; with its version."""
    for name in ["llvm-mc-%d" % v for v in [19] + list(range(30, 16, -1))] + ["llvm-mc"]:
        path = shutil.which(name)
        if not path:
            continue
        version = re.search(r"LLVM version (\d+)", subprocess.run([path, "--version"], capture_output=True, text=True,
                                                                  check=False).stdout)
        version = int(version[1]) if version else 0
        if version >= 17 and exact in (None, version):
            return path, version
    return None, 0


def fill(rng, form, op, probe):
    """Words of an encoding: often a valid one with other operands, sometimes anything."""
    f = tables.FORMATS[form]
    free = ((1 << 32 * f.dwords) - 1) & ~f.opcode
    if not probe or rng.random() < 0.1:
        word = f.encode(op) | rng.getrandbits(32 * f.dwords) & free
    else:
        word = probe.word
        for name in probe.fields:
            if name in f.fields and rng.random() < 0.8:
                word = f.place(word, name, rng.getrandbits(9))
        if "off" in probe.tokens and rng.random() < 0.5:
            word = f.place(word, "ADDR", rng.getrandbits(8))
        # Bits that mean something only with others, then a few of all.
        word ^= rng.getrandbits(64) & rng.getrandbits(64) & f.loose & free
        for bit in range(32 * f.dwords):
            if free >> bit & 1 and rng.random() < rng.choice((0, 0, 0.08)):
                word ^= 1 << bit
    words = f.words(word)
    if rng.random() < 0.7:
        literal = rng.choice(LITERALS) if rng.random() < 0.5 else rng.getrandbits(32)
        words.append(literal)
    return words


def is_asked(form, words):
    """Plain formats do not become SDWA or DPP by chance, and NOT_ASKED: not even behind a refused first word."""
    if any(w & 0x1FF == 0xF9 and not w >> 31 for w in words[1:]):
        return False
    # Nothing that could be taken for the marks between instructions.
    if any(w & 0xFFFFC000 == 0xBF800000 | tables.MARK for w in words):
        return False
    if form in ("VOP1", "VOP2", "VOPC"):
        return words[0] & 0x1FF not in (0xF9, 0xFA)
    if not form.endswith("_SDWA"):
        return True
    x = words[1]
    unused = form == "VOPC_SDWA" or x >> 8 & 7 != 7 and x >> 11 & 3 != 3
    return unused and x >> 16 & 7 != 7 and x >> 24 & 7 != 7


def for_llvm(form, words):
    """FLAT has an offset of 12 bits; LLVM prints the one above, which the hardware ignores."""
    return [words[0] & ~0x1000] + words[1:] if form == "FLAT" and words[0] >> 14 & 3 == 0 else words


def ours(program, target, instructions):
    lines = []
    for words in instructions:
        words = (words + [tables.PAD, tables.PAD])[:3]
        lines.append("%s %x %x %x" % (target, *words))
    # A program for another machine is run as meson runs it.
    command = shlex.split(os.environ.get("MESON_EXE_WRAPPER", "")) + [program, "--filter"]
    run = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True,
                         check=False)
    answers = run.stdout.splitlines()
    if run.returncode or len(answers) != len(instructions):
        sys.exit("%s ended with %d after %d of %d answers: %s"
                 % (program, run.returncode, len(answers), len(instructions), run.stderr[-1000:]))
    return answers


def may_refuse(form, text):
    return any(re.search(pattern, form + " " + text) for pattern, _ in REFUSED)


def agree(form, words, llvm, answer):
    text, taken = llvm
    if text is None or may_refuse(form, text):
        return answer == "-"
    length, _, our_text = answer.partition(" ")
    if our_text != text:
        return False
    # Only where nothing but padding stands behind it can be seen how far LLVM read.
    fixed = tables.FORMATS[form].dwords
    return len(words) != fixed or int(length) == fixed + taken


class Result:
    def __init__(self):
        self.compared = self.valid = self.refused = self.opcodes = 0
        self.wrong = []


def compare(llvm_mc, program, target, form, encodings, rng, result):
    f = tables.FORMATS[form]
    probes = tables.probes(llvm_mc, target, form)
    result.opcodes += len(probes)
    asked = []
    for op in range(f.count):
        for _ in range(encodings if op in probes else 8):
            words = fill(rng, form, op, probes.get(op))
            if is_asked(form, words):
                asked.append(words)
    llvm = tables.disassemble_all(llvm_mc, target, [for_llvm(form, w) for w in asked])
    for words, theirs, answer in zip(asked, llvm, ours(program, target, asked)):
        result.compared += 1
        result.valid += theirs[0] is not None
        result.refused += theirs[0] is not None and may_refuse(form, theirs[0])
        if not agree(form, words, theirs, answer):
            result.wrong.append("%s %s %s: LLVM: %s (+%d)  ours: %s" % (
                target, form, " ".join("%08x" % w for w in words), *theirs, answer))


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def check_tables():
    llvm_mc, _ = find_llvm_mc(TABLES_VERSION)
    if not llvm_mc:
        skip("no llvm-mc-%d (Debian 12: package llvm-%d)" % (TABLES_VERSION, TABLES_VERSION))
    os.execv(sys.executable, [sys.executable, _loader.path, "--check", llvm_mc])


def main():
    if sys.argv[1] == "--check-tables":
        check_tables()
    program = sys.argv[1]
    encodings = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    llvm_mc, version = find_llvm_mc()
    if not llvm_mc:
        skip("no llvm-mc of version 17 or later (Debian 12: package llvm-19; later: llvm)")
    failed = False
    for target in tables.TARGETS:
        result = Result()
        for form in tables.FORMATS:
            rng = random.Random("%d %s %s" % (seed, target, form))
            compare(llvm_mc, program, target, form, encodings, rng, result)
        print("%s, LLVM %d: %d opcodes, %d encodings compared, %d of them valid, %d refused by our own rules, %d wrong"
              % (target, version, result.opcodes, result.compared, result.valid, result.refused, len(result.wrong)))
        if result.wrong:
            print("\n".join(result.wrong[:int(os.environ.get("SHOW", "60"))]))
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
