# SPDX-License-Identifier: MIT
"""The module gpreempt: its calls of the preload, and its results without a preload."""
import ctypes
import errno
import time
import unittest
from unittest import mock

import gpreempt


class WithoutPreload(unittest.TestCase):
    def test_every_call_returns_false(self):
        with mock.patch.object(gpreempt, "_call", None), \
                mock.patch.object(gpreempt, "_lead_time", None):
            self.assertEqual(gpreempt.lead_time(), 0.0)
            self.assertFalse(gpreempt.joined())
            self.assertFalse(gpreempt.arriving())
            self.assertFalse(gpreempt.over())
            with gpreempt.request():
                pass

    def test_queues_are_not_seen(self):
        for call in (gpreempt.queue_of_stream, gpreempt.queue_of_hsa):
            with self.assertRaisesRegex(OSError, "start it with 'gpreempt run'") as caught:
                call(0)
            self.assertEqual(caught.exception.errno, errno.ENOTCONN)

    def test_this_process_has_no_preload(self):
        self.assertIsNone(gpreempt._find("gp_join_arriving", ctypes.c_uint64))


class WithPreload(unittest.TestCase):
    def setUp(self):
        self.said, self.answer = [], 0

        def call(when_ns):
            self.said.append(when_ns)
            return self.answer

        patch = mock.patch.object(gpreempt, "_call", call)
        patch.start()
        self.addCleanup(patch.stop)

    def test_times_are_of_the_monotonic_clock(self):
        before = time.monotonic_ns()
        self.assertTrue(gpreempt.arriving(within=2))
        after = time.monotonic_ns()
        self.assertLessEqual(before + 2_000_000_000, self.said[0])
        self.assertLessEqual(self.said[0], after + 2_000_000_000)

    def test_a_request_is_over_even_when_it_fails(self):
        with self.assertRaises(KeyError), gpreempt.request():
            raise KeyError
        self.assertEqual(len(self.said), 2)
        self.assertEqual(self.said[1], 0)

    def test_a_refusal_is_no_exception(self):
        self.answer = -errno.ENODEV
        self.assertFalse(gpreempt.arriving())
        self.assertFalse(gpreempt.over())

    def test_the_lead_time_is_in_seconds(self):
        def lead_time(found):
            found._obj.value = 1_250_000
            return self.answer

        with mock.patch.object(gpreempt, "_lead_time", lead_time):
            self.assertEqual(gpreempt.lead_time(), 0.00125)
            self.answer = -errno.ENOTCONN
            self.assertEqual(gpreempt.lead_time(), 0.0)

    def test_invalid_times_are_refused(self):
        for within in (-0.1, 3601, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                gpreempt.arriving(within)
        self.assertEqual(self.said, [])


if __name__ == "__main__":
    unittest.main()
