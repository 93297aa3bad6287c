#!/usr/bin/env python3
"""loops.py - the loops that tests/gpu/analysis/nvidia.py finds in stored machine code."""
import os, sys, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "analysis"))
import nvidia


def loops(name, kernel):
    """Counts of each loop, the inner one first."""
    with open(os.path.join(HERE, name)) as f:
        return nvidia._loops(nvidia._blocks(f.read())[kernel])


class Loops(unittest.TestCase):
    def test_a_loop_left_by_a_call_of_a_label(self):
        """dropout_add_backward on sm_86: the inner loop ends by CALL.REL.NOINC, and what comes behind is in the outer one."""
        inner, outer = loops("loop_left_by_call.sass", "dropout_add_backward")
        self.assertEqual((inner["instructions"], inner["fp"]), (199, 16))
        self.assertEqual((outer["instructions"], outer["branch"]), (24, 5))

    def test_a_call_of_a_function_goes_on_behind_it(self):
        """rmsprop on sm_86: the slow path of the square root is a function; its own code is no part of the loop."""
        (loop,) = loops("loop_with_call.sass", "rmsprop")
        self.assertEqual((loop["instructions"], loop["special"], loop["global"]), (45, 2, 5))


if __name__ == "__main__":
    unittest.main()
