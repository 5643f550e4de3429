#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the answers of a kernel and of an emulated machine, line by line.

    compare.py KERNEL EMULATED DIFFERENCES [GROUP...]

Differences that are meant to be are rows of the tables in a Markdown file, "| `case` | `kernel's
answer` | `emulated machine's answer` |", under a heading with a text that gives the reason. An
answer that a side does not have is "-". With groups, only their cases count; one with a slash is the
beginning of a case. Ends with "kernel-probe: N passed, N failed", and with status 1 where a difference
is not in the list, or one in the list is none.
"""
import re
import sys

NONE = "-"
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$")


def answers_of(path):
    answers = {}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("#"):
                continue
            case, colon, answer = line.rstrip("\n").partition(": ")
            if not colon or not answer:
                sys.exit("%s: this is no answer: %s" % (path, line.rstrip()))
            if case in answers:
                sys.exit("%s: two answers to %s" % (path, case))
            answers[case] = answer
    return answers


def differences_of(path):
    """What is meant to differ: the two answers by their case."""
    listed, has_reason = {}, False
    with open(path, encoding="utf-8") as f:
        for line in f:
            row = ROW.match(line.rstrip("\n"))
            if row:
                if not has_reason:
                    sys.exit("%s: no reason is given for %s" % (path, row.group(1)))
                if row.group(1) in listed:
                    sys.exit("%s: %s is there twice" % (path, row.group(1)))
                listed[row.group(1)] = (row.group(2), row.group(3))
            elif line.startswith("| `"):
                sys.exit("%s: this row is not of the form that is read: %s" % (path, line.rstrip()))
            elif line.startswith("#"):
                has_reason = False
            elif line.strip() and not line.startswith("|"):
                has_reason = True
    return listed


def of_groups(cases, groups):
    return {case: answer for case, answer in cases.items()
            if not groups or case.split("/")[0] in groups
            or any("/" in group and case.startswith(group) for group in groups)}


def complain(case, found, listed):
    print("FAILED  %s" % case)
    print("        kernel:           %s" % found[0])
    print("        emulated machine: %s" % found[1])
    if listed:
        print("        listed as:        %s | %s" % listed)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.strip())
    groups = sys.argv[4:]
    kernel = of_groups(answers_of(sys.argv[1]), groups)
    emulated = of_groups(answers_of(sys.argv[2]), groups)
    listed = of_groups(differences_of(sys.argv[3]), groups)
    cases = list(kernel) + [case for case in emulated if case not in kernel]
    failed = 0
    for case in cases:
        found = (kernel.get(case, NONE), emulated.get(case, NONE))
        expected = listed.pop(case, None)
        if found == expected or (found[0] == found[1] and not expected):
            continue
        complain(case, found, expected)
        failed += 1
    for case, answers in listed.items():
        print("FAILED  %s is listed as a difference, but no case asks it: %s | %s" % (case, *answers))
        failed += 1
    print("kernel-probe: %d passed, %d failed" % (len(cases) - min(failed, len(cases)), failed))
    return 1 if failed else 0


sys.exit(main())
