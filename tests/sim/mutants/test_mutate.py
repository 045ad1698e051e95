"""A list of mutants that does not fit its files is refused, and a copy does as its switches say.

usage: test_mutate.py"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MUTATE = pathlib.Path(__file__).resolve().with_name("mutate")
SOURCE = """/* rank() never returns limit + 1. */
#include <stdio.h>
static int limit = 3;
static int rank(int a, int b)
{
    int sum = a +
              b; // of both
    if (sum > limit)
        return limit;
    return sum;
}
static int twice(int a)
{
    return a > limit ? limit : rank(a,
                                    a);
}
int main(void)
{
    printf("%d %d %d\\n", rank(1, 1), rank(2, 2), twice(1));
    return __LINE__ == 20 ? 0 : 1;
}
"""
SUM = "mutant SUM: a sum is a product\nfile a.c\nexpression a + b\nbecomes a * b\n"


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        (self.root / "a.c").write_text(SOURCE)

    def mutate(self, text, *what):
        (self.root / "list.txt").write_text(text)
        return subprocess.run([sys.executable, "-B", MUTATE, "--root", self.root, *what, self.root / "list.txt"],
                              capture_output=True, text=True, timeout=20, check=False)

    def copy(self, text):
        return self.mutate(text, "--source", "a.c", "--output", self.root / "copy.c")

    def refused(self, text, *sentences):
        done = self.copy(text)
        self.assertEqual(1, done.returncode, done.stderr)
        for sentence in sentences:
            self.assertIn(sentence, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def build(self, text):
        """A program of the copy. Its switches are told it in the environment."""
        done = self.copy(text)
        self.assertEqual("", done.stderr)
        done = self.mutate(text, "--switches", self.root / "tests/sim/mutants/switches.h")
        self.assertEqual("", done.stderr)
        switches = "".join(f'    mutant_is_on[MUTANT_{name}] = strstr(on, "{name}");\n'
                           for name in re.findall("^mutant ([A-Z]+)", text, re.M))
        (self.root / "on.c").write_text('#include "tests/sim/mutants/switches.h"\n'
                                        "#include <stdlib.h>\n#include <string.h>\n"
                                        "bool mutant_is_on[MUTANT_KINDS];\n"
                                        "__attribute__((constructor)) static void switch_on(void)\n{\n"
                                        f'    const char *on = getenv("ON");\n{switches}}}\n')
        built = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", self.root,
                                self.root / "copy.c", self.root / "on.c", "-o", self.root / "program"],
                               capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual("", built.stderr)

    def plays(self, numbers, *on):
        """The program prints these numbers while these mutants are on."""
        played = subprocess.run([self.root / "program"], env={"ON": " ".join(on)}, capture_output=True, text=True,
                                timeout=20, check=False)
        self.assertEqual(0, played.returncode, "a line of the copy has another number than in its file")
        self.assertEqual(numbers, played.stdout.strip())


class Copies(Case):
    def test_expression_is_replaced_only_while_its_mutant_is_on(self):
        self.build(SUM)
        self.plays("2 3 2")
        self.plays("1 3 1", "SUM")

    def test_statement_is_replaced_only_while_its_mutant_is_on(self):
        text = "mutant NOTHING: no limit\nfile a.c\nstatement if (sum > limit)\n  return limit;\nbecomes ;\n"
        self.build(text)
        self.plays("2 3 2")
        self.plays("2 4 2", "NOTHING")

    def test_mutants_of_one_fragment_and_of_a_part_of_it_are_switched_apart(self):
        text = (SUM + "mutant ZERO: a sum is 0\nfile a.c\nexpression a + b\nbecomes 0\n"
                "mutant PART: b is 2\nfile a.c\nin rank\nat int sum = a + b;\nexpression b\nbecomes 2\n")
        self.build(text)
        self.plays("2 3 2")
        self.plays("1 3 1", "SUM")
        self.plays("0 0 0", "ZERO")
        self.plays("3 3 3", "PART")

    def test_added_function_can_be_called(self):
        text = ("mutant HALF: a sum is halved\nfile a.c\nabove static int rank(\n"
                "add static int half(int n) {\n  return n / 2;\n  }\n"
                "expression a + b\nbecomes half(a + b)\n")
        self.build(text)
        self.plays("2 3 2")
        self.plays("1 2 1", "HALF")

    def test_function_and_text_around_tell_places_apart(self):
        text = ("mutant FIVE: the limit is 1\nfile a.c\nin rank\nat return limit;\nexpression limit\nbecomes 1\n"
                "in twice\nat limit : rank\nexpression limit\nbecomes 1\n")
        self.build(text)
        self.plays("2 1 2", "FIVE")


class Refusals(Case):
    def test_fragment_that_is_not_there(self):
        self.refused(SUM.replace("a + b", "a - b"), "list.txt:3: mutant SUM: a.c", "not there: a - b")

    def test_fragment_that_is_there_twice(self):
        self.refused("mutant A: x\nfile a.c\nexpression return limit\nbecomes 1\nexpression sum\nbecomes 1\n",
                     "list.txt:5: mutant A: a.c", "there 3 times: sum")

    def test_fragment_of_another_function(self):
        self.refused("mutant A: x\nfile a.c\nin twice\nexpression sum > limit\nbecomes 1\n", "in twice()", "not there")

    def test_fragment_in_a_comment(self):
        self.refused("mutant A: x\nfile a.c\nexpression limit + 1\nbecomes 1\n", "not there: limit + 1")

    def test_part_of_a_word(self):
        self.refused("mutant A: x\nfile a.c\nexpression su\nbecomes 1\n", "not there: su")

    def test_function_that_is_not_there(self):
        self.refused("mutant A: x\nfile a.c\nin thrice\nexpression sum\nbecomes 1\n", "no such function")

    def test_fragments_that_overlap(self):
        self.refused("mutant A: x\nfile a.c\nexpression sum > limit\nbecomes 1\n"
                     "mutant B: x\nfile a.c\nstatement limit) return limit;\nbecomes 1;\n", "do not match")
        self.refused("mutant A: x\nfile a.c\nstatement int sum = a + b; if (sum > limit)\nbecomes 1;\n"
                     "mutant B: x\nfile a.c\nstatement if (sum > limit) return limit;\nbecomes 1;\n",
                     "list.txt:7: mutant B: a.c: the fragment overlaps that of A (list.txt:3)")

    def test_list_that_is_malformed(self):
        self.refused("file a.c\n", "begins with a line 'mutant NAME: RULE'")
        self.refused("mutant a: x\n", "NAME in capitals")
        self.refused(SUM + SUM, "mutant SUM stands in the lists twice")
        self.refused("mutant A: x\nexpression sum\nbecomes 1\n", "a 'file PATH' has to stand before 'expression'")
        self.refused("mutant A: x\nfile a.c\nexpression sum > limit\n", "a line 'becomes' is missing")
        self.refused("mutant A: x\nfile a.c\nexpression sum > limit\nadd 1\n", "a line 'becomes TEXT' has to follow")
        self.refused("mutant A: x\nfile a.c\nexpression sum > limit\nbecomes (1\n", "the brackets")
        self.refused("mutant A: x\nfile a.c\nwords sum\n", "there is no keyword 'words'")

    def test_mutant_that_changes_nothing(self):
        done = self.mutate("mutant A: x\n", "--switches", self.root / "switches.h")
        self.assertEqual((1, "mutant A changes no file: an edit is missing\n"), (done.returncode, done.stderr))
        done = self.mutate("mutant A: x\nasked a.c\n", "--switches", self.root / "switches.h")
        self.assertEqual((1, "list.txt:2: mutant A: a.c does not ask for it. Name the file that does\n"),
                         (done.returncode, done.stderr))


if __name__ == "__main__":
    unittest.main()
